/* SPDX-License-Identifier: BSD-3-Clause */
/* Aligned memory, and pages. */
#ifndef MERCURY_MEM_H
#define MERCURY_MEM_H

#include "mercury_util_config.h"

#define HG_MEM_CACHE_LINE_SIZE 64
#define HG_MEM_PAGE_SIZE 4096

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a page. */
HG_UTIL_PUBLIC long hg_mem_get_page_size(void);

/* Bytes of a huge page of the default size; 0: the kernel has none. */
HG_UTIL_PUBLIC long hg_mem_get_hugepage_size(void);

/* size bytes at a multiple of alignment, a power of two, for
 * hg_mem_aligned_free. NULL: out of memory, or no such alignment. */
HG_UTIL_PUBLIC void *hg_mem_aligned_alloc(size_t alignment, size_t size);
HG_UTIL_PUBLIC void hg_mem_aligned_free(void *mem_ptr);

/* size bytes, rounded up to huge pages, for hg_mem_huge_free with the same size.
 * NULL: the system has too few of them. */
HG_UTIL_PUBLIC void *hg_mem_huge_alloc(size_t size);

/* size: as for hg_mem_huge_alloc. Returns HG_UTIL_SUCCESS, or HG_UTIL_FAIL if
 * mem_ptr is not the start of a huge page. */
HG_UTIL_PUBLIC int hg_mem_huge_free(void *mem_ptr, size_t size);

/* size bytes at a multiple of alignment (0: any), with header_size bytes before
 * them, for hg_mem_header_free with the same sizes. Returns the address after
 * the header; NULL: out of memory, or no such alignment. */
HG_UTIL_PUBLIC void *hg_mem_header_alloc(
    size_t header_size, size_t alignment, size_t size);
HG_UTIL_PUBLIC void hg_mem_header_free(
    size_t header_size, size_t alignment, void *mem_ptr);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_MEM_H */

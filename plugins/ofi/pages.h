/* SPDX-License-Identifier: BSD-3-Clause */
/* Large memory in whole pages, kept out of the heap: there it would lie between
 * what libfabric never frees, and tear holes. */
#ifndef OFI_PAGES_H
#define OFI_PAGES_H

#include <stddef.h>
#include <sys/mman.h>

/* Zeroed memory; NULL: none. */
static inline void *
ofi_pages_new(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static inline void
ofi_pages_free(void *memory, size_t bytes)
{
    if (memory != NULL)
        munmap(memory, bytes);
}

#endif /* OFI_PAGES_H */

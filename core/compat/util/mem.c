/* SPDX-License-Identifier: BSD-3-Clause */
/* Aligned memory, and pages. */
#include "mercury_mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

long
hg_mem_get_page_size(void)
{
    long size = sysconf(_SC_PAGESIZE);

    return size > 0 ? size : 0;
}

/* Said by the line "Hugepagesize: 2048 kB" of /proc/meminfo (proc(5)). */
long
hg_mem_get_hugepage_size(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    long kib = 0;

    if (!file)
        return 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "Hugepagesize: %ld kB", &kib) == 1)
            break;
    (void) fclose(file);
    return kib > 0 ? kib * 1024 : 0;
}

void *
hg_mem_aligned_alloc(size_t alignment, size_t size)
{
    void *memory = NULL;

    if (alignment < sizeof(void *))
        alignment = sizeof(void *);
    return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

void
hg_mem_aligned_free(void *mem_ptr)
{
    free(mem_ptr);
}

/* Rounds a size up to huge pages, in multiples of which the kernel unmaps them
 * (mmap(2)). 0: too large, or the kernel has none. */
static size_t
huge_size(size_t size)
{
    size_t page = (size_t) hg_mem_get_hugepage_size();

    return page == 0 || size > SIZE_MAX - page
               ? 0
               : (size + page - 1) / page * page;
}

void *
hg_mem_huge_alloc(size_t size)
{
    void *memory = mmap(NULL, huge_size(size), PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

int
hg_mem_huge_free(void *mem_ptr, size_t size)
{
    return munmap(mem_ptr, huge_size(size)) < 0 ? HG_UTIL_FAIL
                                                : HG_UTIL_SUCCESS;
}

/* Bytes before the payload: the header, up to the next multiple of alignment. */
static size_t
payload_offset(size_t header_size, size_t alignment)
{
    if (alignment == 0)
        return header_size;
    return (header_size + alignment - 1) & ~(alignment - 1);
}

void *
hg_mem_header_alloc(size_t header_size, size_t alignment, size_t size)
{
    size_t offset = payload_offset(header_size, alignment);
    char *memory;

    if ((alignment & (alignment - 1)) != 0 || offset < header_size ||
        size > SIZE_MAX - offset)
        return NULL;
    memory = hg_mem_aligned_alloc(alignment, offset + size);
    return memory ? memory + offset : NULL;
}

void
hg_mem_header_free(size_t header_size, size_t alignment, void *mem_ptr)
{
    if (mem_ptr)
        hg_mem_aligned_free(
            (char *) mem_ptr - payload_offset(header_size, alignment));
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "allocations.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t align, size_t size);

static struct allocations counts[ALLOCATIONS_OWNERS];
static bool counting;

static enum allocations_owner
owner_of(const void *caller)
{
    Dl_info object;

    if (dladdr(caller, &object) == 0 || !object.dli_fname)
        return ALLOCATIONS_CORE;
    if (strstr(object.dli_fname, "/libna_"))
        return ALLOCATIONS_PLUGIN;
    return strstr(object.dli_fname, "/libfabric.so") ||
                   strstr(object.dli_fname, "/libuc")
               ? ALLOCATIONS_LIBRARY
               : ALLOCATIONS_CORE;
}

static void
count_for(const void *caller, size_t bytes)
{
    enum allocations_owner owner;

    if (!counting)
        return;
    owner = owner_of(caller);
    counts[owner].count++;
    counts[owner].bytes += bytes;
}

#define COUNT(bytes) count_for(__builtin_return_address(0), bytes)

void *
malloc(size_t size)
{
    COUNT(size);
    return __libc_malloc(size);
}

void *
calloc(size_t count, size_t size)
{
    COUNT(count * size);
    return __libc_calloc(count, size);
}

void *
realloc(void *memory, size_t size)
{
    COUNT(size);
    return __libc_realloc(memory, size);
}

void *
aligned_alloc(size_t align, size_t size)
{
    COUNT(size);
    return __libc_memalign(align, size);
}

int
posix_memalign(void **memory_p, size_t align, size_t size)
{
    COUNT(size);
    *memory_p = __libc_memalign(align, size);
    return *memory_p ? 0 : ENOMEM;
}

void
allocations_count(bool on)
{
    counting = on;
}

struct allocations
allocations_of(enum allocations_owner owner)
{
    return counts[owner];
}

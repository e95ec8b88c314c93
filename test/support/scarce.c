/* SPDX-License-Identifier: BSD-3-Clause */
/* The wrapped functions. */
#include "scarce.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

atomic_long scarce_countdown = -1;
atomic_uint scarce_allocations;

bool
scarce_fails(void)
{
    atomic_fetch_add_explicit(&scarce_allocations, 1, memory_order_relaxed);
    if (scarce_countdown < 0 || scarce_countdown-- != 0)
        return false;
    errno = ENOMEM;
    return true;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);

void *
__wrap_malloc(size_t size)
{
    return scarce_fails() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t count, size_t size)
{
    return scarce_fails() ? NULL : __real_calloc(count, size);
}

void *
__wrap_realloc(void *memory, size_t size)
{
    return scarce_fails() ? NULL : __real_realloc(memory, size);
}

void *
__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return scarce_fails() ? NULL : __real_aligned_alloc(alignment, size);
}

char *
__wrap_strdup(const char *text)
{
    return scarce_fails() ? NULL : __real_strdup(text);
}

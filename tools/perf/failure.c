/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the first failure; later ones are consequences. */
#include "perf/failure.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

void
perf_failure_set(struct perf_failure *failure, const char *format, ...)
{
    int none = 0;
    va_list arguments;

    if (!atomic_compare_exchange_strong_explicit(&failure->state, &none, 1,
            memory_order_relaxed, memory_order_relaxed))
        return;
    va_start(arguments, format);
    vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
    /* Pairs with the acquire in perf_failure_text. */
    atomic_store_explicit(&failure->state, 2, memory_order_release);
}

const char *
perf_failure_text(const struct perf_failure *failure)
{
    /* Pairs with the release in perf_failure_set. */
    if (atomic_load_explicit(&failure->state, memory_order_acquire) != 2)
        return "";
    return failure->text;
}

void
perf_text_copy(char *to, size_t size, const char *from, size_t length)
{
    size_t i;

    for (i = 0; i < length && i + 1 < size && from[i] != 0; i++)
        to[i] = isprint((unsigned char) from[i]) ? from[i] : '?';
    to[i] = 0;
}

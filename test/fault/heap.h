/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every allocation of the process, whoever asks for it: counted, one of them
 * made to fail, and what is left looked at. A program that links heap.c
 * replaces malloc and its relatives, in front of a sanitizer's.
 */
#ifndef HEAP_H
#define HEAP_H

#include "frames.h"

#include <stdbool.h>
#include <stddef.h>

enum heap_scope {
    HEAP_ALL, /* all but this program's own and jansson's */
    HEAP_OURS /* those of libtalaria and the plugins, and what the C library
                 allocates for them */
};

/* Counts from now on; fails allocation fail_at of the scope, from 0, negative:
 * none. who: is told who asked for that one, at once. Once per process. */
void heap_begin(enum heap_scope scope, long fail_at, char *who, size_t size);

/* Nothing is counted or failed any more; frees still are noted. */
void heap_end(void);

/* Of the scope so far, and whether that one has failed. */
long heap_count(void);
bool heap_failed(void);

/* What libtalaria and the plugins allocated since heap_begin and nobody freed:
 * its number; text: who allocated the first of these. */
unsigned heap_left(char *text, size_t size);

#endif /* HEAP_H */

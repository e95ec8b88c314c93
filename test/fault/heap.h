/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All allocations of the process: counted, one of them made to fail, leaks
 * found. A program that links heap.c replaces malloc and its relatives, in
 * front of a sanitizer's.
 */
#ifndef HEAP_H
#define HEAP_H

#include "frames.h"

#include <stdbool.h>
#include <stddef.h>

enum heap_scope {
    HEAP_ALL, /* all except this program's own and jansson's */
    /* those of libtalaria and the plugins, and of the C library on their
     * behalf */
    HEAP_OURS
};

/* Starts counting, and fails allocation number fail_at of the scope (from 0;
 * negative: none). stack_text gets the stack of that allocation at once. Once per
 * process. */
void heap_begin(
    enum heap_scope scope, long fail_at, char *stack_text, size_t size);

/* Stops counting and failing; frees are still tracked. */
void heap_end(void);

/* Allocations of the scope so far, and whether one has failed. */
long heap_count(void);
bool heap_failed(void);

/* Number of allocations by libtalaria and the plugins since heap_begin that
 * were not freed; text: stack of the first of them. */
unsigned heap_left(char *text, size_t size);

#endif /* HEAP_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes allocations fail, in programs linked with --wrap for each function that
 * scarce.c defines. Affects the program's own objects and static libraries. Any
 * thread may allocate.
 */
#ifndef SCARCE_H
#define SCARCE_H

#include <stdatomic.h>
#include <stdbool.h>

/* Number of allocations that succeed before one fails; negative: none fails.
 * Initially -1, and again after the failure. */
extern atomic_long scarce_countdown;

/* Number of allocations so far, failed ones included. */
extern atomic_uint scarce_allocations;

/* Counts an allocation. Returns whether it has to fail with errno ENOMEM. For
 * functions that a program wraps itself. */
bool scarce_fails(void);

#endif /* SCARCE_H */

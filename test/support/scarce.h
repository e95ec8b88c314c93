/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that runs out: for programs that are linked with --wrap for all that
 * scarce.c defines, so that what their own objects and static libraries allocate
 * comes by here. Any thread may allocate.
 */
#ifndef SCARCE_H
#define SCARCE_H

#include <stdatomic.h>
#include <stdbool.h>

/* How many allocations succeed before one fails; negative: all do. At first -1,
 * and again after the failure. */
extern atomic_long scarce_countdown;

/* Allocations so far, those that failed among them. */
extern atomic_uint scarce_allocations;

/* Counts an allocation; whether it has to fail, with errno ENOMEM. For what a
 * program wraps beyond that. */
bool scarce_fails(void);

#endif /* SCARCE_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers that nobody can guess, drawn from the kernel in batches, so that
 * a registration costs no system call of its own. */
#ifndef SM_RANDOM_H
#define SM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* What one getrandom fills; the kernel returns 256 bytes or less whole. */
#define SM_RANDOM_BATCH 32U

struct sm_random {
    uint32_t left;
    uint64_t numbers[SM_RANDOM_BATCH];
};

/* Draws a number other than 0. False: the kernel gives none. The caller
 * serializes the calls on one struct. */
bool sm_random_draw(struct sm_random *random, uint64_t *number_p);

#endif /* SM_RANDOM_H */

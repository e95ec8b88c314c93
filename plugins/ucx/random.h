/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers of the kernel: names that no peer can guess. */
#ifndef UCX_RANDOM_H
#define UCX_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#define UCX_RANDOM_NUMBERS 32U /* that one system call brings: 256 bytes */

/* Numbers drawn ahead, so that a registration costs no system call. Zeroed
 * memory is an empty one. */
struct ucx_random {
    uint64_t numbers[UCX_RANDOM_NUMBERS];
    uint32_t left;
};

/* A number that is not 0 and that nobody had before. False: the kernel has
 * none. */
bool ucx_random_draw(struct ucx_random *random, uint64_t *number_p);

#endif /* UCX_RANDOM_H */

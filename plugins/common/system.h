/* SPDX-License-Identifier: BSD-3-Clause */
/* Clock, random numbers, descriptors, memory. [any thread], but for tp_random */
#ifndef TP_SYSTEM_H
#define TP_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define TP_MS UINT64_C(1000000) /* nanoseconds */
#define TP_SECOND UINT64_C(1000000000)

/* Nanoseconds of a clock that only goes on. */
static inline uint64_t
tp_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

#define TP_RANDOM_NUMBERS 32U /* that one system call brings: 256 bytes */

/* Random numbers of the kernel, drawn ahead, so that a registration costs no
 * system call. Zeroed memory is an empty one. */
struct tp_random {
    uint64_t numbers[TP_RANDOM_NUMBERS];
    uint32_t left;
};

/* A number that is not 0 and that nobody can guess. False: the kernel has none,
 * errno says why. The caller locks. */
bool tp_random_draw(struct tp_random *random, uint64_t *number_p);

/* The ABI's code for an errno; IO_ERROR: none fits better. */
int32_t tp_error_code(int error);

/* Sets close-on-exec; false: fd is no open descriptor. */
bool tp_close_on_exec(int fd);

/* Zeroed memory in cache lines of its own, to be freed by free(); NULL: there is
 * none. */
void *tp_alloc_lines(size_t size);

#endif /* TP_SYSTEM_H */

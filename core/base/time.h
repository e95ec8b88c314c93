/* SPDX-License-Identifier: BSD-3-Clause */
/* Monotonic time in nanoseconds, and deadlines. */
#ifndef BASE_TIME_H
#define BASE_TIME_H

#include <stdint.h>
#include <time.h>

#define BASE_TIME_MS 1000000ULL
#define BASE_TIME_NEVER UINT64_MAX

uint64_t base_time_now(void);

/* Returns the time that is timeout_ms milliseconds from now. */
uint64_t base_time_deadline(unsigned timeout_ms);

/* Returns the nanoseconds left until a deadline; 0 if it has passed. */
uint64_t base_time_left(uint64_t deadline);

struct timespec base_time_spec(uint64_t ns);

#endif /* BASE_TIME_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* The limits of a class, from the environment. */
#include "hg/limits.h"

#include "base/env.h"
#include "base/log.h"
#include "proc/proc.h"

#include <errno.h>
#include <stdlib.h>

/* Long for a program that computes and makes no progress meanwhile, short for
 * one that serves for weeks. */
#define ACK_MS UINT64_C(300000)

/* More moves as bulk data. A machine of a few GiB survives some contexts that
 * hold all of it. */
#define MIB (UINT64_C(1) << 20)
#define OVERFLOW_MAX (256 * MIB)
#define OVERFLOW_TOTAL (1024 * MIB)

/* Leaves the number as it is when the variable is unset. */
static bool
read_number(const char *name, uint64_t max, uint64_t *number)
{
    const char *text = base_env_get(name);
    uint64_t value;
    char *end;

    if (!text)
        return true;
    errno = 0;
    value = strtoull(text, &end, 10);
    /* strtoull takes spaces and signs. */
    if (*text >= '0' && *text <= '9' && !*end && errno == 0 && value <= max) {
        *number = value;
        return true;
    }
    LOG_ERROR(HG, "%s is \"%s\", which is no number up to %llu", name, text,
        (unsigned long long) max);
    return false;
}

bool
hg_limits_read(struct hg_limits *limits)
{
    *limits = (struct hg_limits){.ack_ms = ACK_MS,
        .overflow_max = OVERFLOW_MAX,
        .overflow_total = OVERFLOW_TOTAL};
    return read_number(
               "TALARIA_HG_ACK_TIMEOUT_MS", UINT32_MAX, &limits->ack_ms) &&
           read_number("TALARIA_HG_OVERFLOW_MAX", PROC_SIZE_MAX,
               &limits->overflow_max) &&
           read_number("TALARIA_HG_OVERFLOW_TOTAL", UINT64_MAX,
               &limits->overflow_total);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What a peer can make a class hold, and for how long: settings of the
 * core. */
#ifndef HG_LIMITS_H
#define HG_LIMITS_H

#include "mercury_types.h"
#include "na_plugin.h"

#include <stdint.h>

struct setting_pairs;

struct hg_limits {
    uint64_t ack_ms; /* until an answer beyond a message is acknowledged; 0:
                        no limit */
    uint64_t overflow_max;   /* bytes that are fetched for one message, */
    uint64_t overflow_total; /* and that a context holds at once: hold.h */
};

/* The core's own settings. */
extern const na_plugin_setting *const hg_limits_settings[];

/* What pairs, which may be NULL, or the environment say, or the defaults.
 * HG_INVALID_ARG, after a log line: one of them is wrong; HG_NOMEM. */
hg_return_t hg_limits_read(
    struct hg_limits *limits, struct setting_pairs *pairs);

#endif /* HG_LIMITS_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* What a peer can make a class hold, and for how long: settings of the core,
 * which base/env.h lists. */
#ifndef HG_LIMITS_H
#define HG_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct hg_limits {
    uint64_t ack_ms; /* until an answer beyond a message is acknowledged; 0:
                        no limit */
    uint64_t overflow_max;   /* bytes that are fetched for one message, */
    uint64_t overflow_total; /* and that a context holds at once: hold.h */
};

/* What the environment says, or the defaults. false, after a log line: it says
 * what is no number, or one that is too large. */
bool hg_limits_read(struct hg_limits *limits);

#endif /* HG_LIMITS_H */

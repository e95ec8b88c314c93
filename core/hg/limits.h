/* What a peer can make a class hold, and for how long: settings of the
 * core. */
#ifndef HG_LIMITS_H
#define HG_LIMITS_H

#include "mercury_types.h"

#include <stdint.h>

struct setting_pairs;

struct hg_limits {
    uint64_t ack_ms;         /* timeout of acknowledgements; 0: none */
    uint64_t overflow_max;   /* bytes fetched for one message */
    uint64_t overflow_total; /* bytes held by a context: see hold.h */
};

/* Reads the limits, settings of setting/core.h, from pairs, which may be NULL, or the environment, or the
 * defaults. HG_INVALID_ARG, after a log line: an invalid value; HG_NOMEM. */
hg_return_t hg_limits_read(
    struct hg_limits *limits, struct setting_pairs *pairs);

#endif /* HG_LIMITS_H */

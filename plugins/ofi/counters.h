/* SPDX-License-Identifier: BSD-3-Clause */
/* What a class counts. */
#ifndef OFI_COUNTERS_H
#define OFI_COUNTERS_H

#include <stdint.h>

/* Counters of na.report/1. */
struct ofi_counters {
    uint64_t sent;
    uint64_t injected;
    uint64_t received;
    uint64_t to_self;
    uint64_t eagain_retries;
    uint64_t queued;
    uint64_t kept_unexpected;
    uint64_t dropped_expected;
    uint64_t forwarded; /* to endpoints that their senders did not know */
    uint64_t strayed;   /* for a context that is not there */
    uint64_t malformed;
    uint64_t no_memory; /* messages lost for want of it */
    uint64_t pings;
    uint64_t probes;
    uint64_t silent; /* connections shut down */
    uint64_t lost;
    uint64_t replaced;
    uint64_t put_bytes;
    uint64_t get_bytes;
    uint64_t fragments;
    uint64_t completion_errors;
};

#endif /* OFI_COUNTERS_H */

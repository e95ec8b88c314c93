/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that are dropped; said once at a time, not for each. */
#include "reject.h"
#include "ofi.h"

/* What is no message of this plugin's; said once at a time, not for each. */
void
ofi_reject(struct ofi_endpoint *ep, const char *why)
{
    uint64_t count = ep->counters.malformed++;

    if ((count & (count + 1)) == 0)
        TP_LOG(ep->cls->host, WARNING,
            "a message was dropped, number %llu of its kind: %s",
            (unsigned long long) count + 1, why);
}

/* Logged like a rejected message: memory may be short for a while. */
void
ofi_reject_lost(struct ofi_endpoint *ep, uint64_t length)
{
    uint64_t count = ep->counters.no_memory++;

    if ((count & (count + 1)) == 0)
        TP_LOG(ep->cls->host, ERROR,
            "out of memory: a message of %llu bytes is lost, number %llu of "
            "its kind",
            (unsigned long long) length, (unsigned long long) count + 1);
}

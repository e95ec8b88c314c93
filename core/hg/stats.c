/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters. */
#include "hg/stats.h"

enum talaria_failure
hg_stats_failure(hg_return_t ret)
{
    switch (ret) {
    case HG_CANCELED:
        return TALARIA_FAILURE_CANCELED;
    case HG_TIMEOUT:
        return TALARIA_FAILURE_TIMEOUT;
    case HG_HOSTUNREACH:
    case HG_HOSTFIREWALL:
    case HG_IO_ERROR:
        return TALARIA_FAILURE_UNREACHABLE;
    case HG_PROTOCOL_ERROR:
    case HG_CHECKSUM_ERROR:
    case HG_MSGSIZE:
    case HG_OVERFLOW:
        return TALARIA_FAILURE_MESSAGE;
    case HG_NOENTRY:
        return TALARIA_FAILURE_UNKNOWN_RPC;
    default:
        return TALARIA_FAILURE_OTHER;
    }
}

void
hg_stats_add_failure(_Atomic uint64_t *fields, uint64_t once, hg_return_t ret)
{
    hg_stats_add(
        &fields[HG_STATS_FIELD(failures) + (size_t) hg_stats_failure(ret)],
        once);
}

void
hg_stats_add_request(_Atomic uint64_t *fields, uint64_t bytes)
{
    hg_stats_add(&fields[HG_STATS_FIELD(requests)], 1);
    hg_stats_add(&fields[HG_STATS_FIELD(request_bytes)], bytes);
}

void
hg_stats_add_answer(
    _Atomic uint64_t *fields, uint64_t once, uint64_t bytes, uint64_t took_ns)
{
    size_t bucket = took_ns > 1 ? 63U - (size_t) __builtin_clzll(took_ns) : 0;

    if (bucket >= HG_STATS_BUCKETS)
        bucket = HG_STATS_BUCKETS - 1;
    hg_stats_add(&fields[HG_STATS_FIELD(answers)], once);
    hg_stats_add(&fields[HG_STATS_FIELD(answer_bytes)], once * bytes);
    hg_stats_add(&fields[HG_STATS_FIELD(latency_ns)], once * took_ns);
    hg_stats_add(&fields[HG_STATS_FIELD(latency) + bucket], once);
}

void
hg_stats_move(hg_stats_fields from, hg_stats_fields to)
{
    for (size_t i = 0; i < HG_STATS_FIELDS; i++)
        hg_stats_add(&to[i],
            atomic_exchange_explicit(&from[i], 0, memory_order_relaxed));
}

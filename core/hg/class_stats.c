/* SPDX-License-Identifier: BSD-3-Clause */
/* The classes of the process, and their counters, for programs and for the log.
 */
#include "hg/class_stats.h"

#include "base/log.h"
#include "base/watch.h"
#include "hg/class.h"
#include "hg/watch.h"
#include "na.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static uint64_t
value(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Returned counts of one side. */
struct side {
    struct talaria_call_stats public;
    struct hg_call_counts counts;
};

struct rpc_stats {
    struct talaria_rpc_stats public;
    struct side origin;
    struct side target;
};

/* The returned statistics, in two allocations. */
struct stats {
    struct talaria_class_stats public;
    struct hg_diag_counters counters;
    struct side origin;
    struct side target;
    struct talaria_rpc_stats **pointers;
    struct rpc_stats rpcs[];
};

static const struct talaria_call_stats *
publish(struct side *side)
{
    const struct hg_call_counts *counts = &side->counts;

    side->public = (struct talaria_call_stats){.requests = counts->requests,
        .request_bytes = counts->request_bytes,
        .answers = counts->answers,
        .answer_bytes = counts->answer_bytes,
        .dropped = counts->dropped,
        .latency_ns = counts->latency_ns,
        .failure_count = TALARIA_FAILURE_MAX,
        .failures = counts->failures,
        .latency_count = HG_STATS_BUCKETS,
        .latency = counts->latency};
    return &side->public;
}

/* Copies the counts of one side and adds them to its sum. */
static void
take(const _Atomic uint64_t *from, struct hg_call_counts *counts,
    struct hg_call_counts *sum)
{
    uint64_t *to = (uint64_t *) counts, *total = (uint64_t *) sum;

    for (size_t i = 0; i < HG_STATS_FIELDS; i++) {
        to[i] = value(&from[i]);
        total[i] += to[i];
    }
}

/* Names are valid until the class is finalized. Called under the registry's
 * lock. */
static size_t
fill(struct stats *stats, const struct hg_registry *registry)
{
    const struct hg_rpc *rpc;
    struct hg_call_counts forgotten;
    size_t count = 0;

    take(registry->forgotten_origin, &forgotten, &stats->origin.counts);
    take(registry->forgotten_target, &forgotten, &stats->target.counts);
    SLIST_FOREACH (rpc, &registry->all, next) {
        struct rpc_stats *to = &stats->rpcs[count];

        const struct hg_rpc_stats *counts = hg_rpc_stats_of(rpc);

        if (counts->latest != rpc)
            continue;
        take(counts->origin, &to->origin.counts, &stats->origin.counts);
        take(counts->target, &to->target.counts, &stats->target.counts);
        to->public = (struct talaria_rpc_stats){.id = rpc->id,
            .name = rpc->name,
            .origin = publish(&to->origin),
            .target = publish(&to->target)};
        stats->pointers[count++] = &to->public;
    }
    stats->public.origin = publish(&stats->origin);
    stats->public.target = publish(&stats->target);
    return count;
}

static struct stats *
stats_alloc(const struct hg_registry *registry)
{
    const struct hg_rpc *rpc;
    struct stats *stats;
    size_t count = 0;

    SLIST_FOREACH (rpc, &registry->all, next)
        count += hg_rpc_stats_of(rpc)->latest == rpc;
    stats = calloc(1, sizeof *stats + count * sizeof stats->rpcs[0]);
    if (!stats)
        return NULL;
    stats->pointers = calloc(count + 1, sizeof(struct talaria_rpc_stats *));
    if (!stats->pointers) {
        free(stats);
        return NULL;
    }
    return stats;
}

hg_return_t
HG_Class_get_counters(
    const hg_class_t *hg_class, struct hg_diag_counters *diag_counters)
{
    const struct hg_counters *counters;

    if (!hg_class || !diag_counters)
        return HG_INVALID_ARG;
    if (!hg_class->bulk.stats)
        return HG_OPNOTSUPPORTED;
    counters = &hg_class->counters;
    *diag_counters = (struct hg_diag_counters){
        .rpc_req_sent_count = value(&counters->request_sent),
        .rpc_req_recv_count = value(&counters->request_received),
        .rpc_resp_sent_count = value(&counters->response_sent),
        .rpc_resp_recv_count = value(&counters->response_received),
        .rpc_req_extra_count = value(&counters->request_extra),
        .rpc_resp_extra_count = value(&counters->response_extra),
        .rpc_req_recv_active_count = value(&counters->active),
        .rpc_multi_recv_copy_count = value(&counters->multi_recv_copy),
        .bulk_count = value(&hg_class->bulk.transfer_count),
    };
    return HG_SUCCESS;
}

hg_return_t
talaria_class_stats(hg_class_t *hg_class, struct talaria_class_stats **stats_p)
{
    struct hg_registry *registry;
    struct stats *stats;

    if (!hg_class || !stats_p)
        return HG_INVALID_ARG;
    if (!hg_class->bulk.stats)
        return HG_OPNOTSUPPORTED;
    registry = &hg_class->registry;
    base_lock_acquire(&registry->lock);
    stats = stats_alloc(registry);
    if (stats) {
        stats->public.count = fill(stats, registry);
        stats->public.rpcs = stats->pointers;
    }
    base_lock_release(&registry->lock);
    if (!stats)
        return HG_NOMEM;
    HG_Class_get_counters(hg_class, &stats->counters);
    stats->public.counters = &stats->counters;
    stats->public.plugin = NA_Get_class_name(hg_class_na(hg_class));
    stats->public.protocol = NA_Get_class_protocol(hg_class_na(hg_class));
    stats->public.messages_dropped = value(&hg_class->counters.dropped);
    stats->public.requests_unknown = value(&hg_class->counters.request_unknown);
    stats->public.answers_late = value(&hg_class->counters.response_late);
    stats->public.payloads_refused = value(&hg_class->counters.payload_refused);
    *stats_p = &stats->public;
    return HG_SUCCESS;
}

void
talaria_class_stats_free(struct talaria_class_stats *stats)
{
    struct stats *whole = (struct stats *) stats;

    if (!whole)
        return;
    free(whole->pointers);
    free(whole);
}

/* All classes of the process. */
static LIST_HEAD(, hg_class) classes = LIST_HEAD_INITIALIZER(classes);
static pthread_mutex_t classes_lock = PTHREAD_MUTEX_INITIALIZER;

/* Ignores the log level: the caller asked for them. */
static void
dump(const struct hg_class *hg_class)
{
    static const char *const names[] = {"requests sent", "requests received",
        "answers sent", "answers received", "requests with extra payload",
        "answers with extra payload", "requests being handled",
        "requests copied out", "bulk transfers"};
    uint64_t values[sizeof(struct hg_diag_counters) / sizeof(uint64_t)];
    struct hg_diag_counters counters;

    _Static_assert(
        sizeof names / sizeof names[0] == sizeof counters / sizeof(uint64_t),
        "each counter has a name");
    HG_Class_get_counters(hg_class, &counters);
    memcpy(values, &counters, sizeof values);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        base_log_write(BASE_LOG_HG, BASE_LOG_INFO, __FILE__, __LINE__,
            "%s+%s: %s: %llu", NA_Get_class_name(hg_class_na(hg_class)),
            NA_Get_class_protocol(hg_class_na(hg_class)), names[i],
            (unsigned long long) values[i]);
}

/* The log at level DEBUG is an observer. */
static void
level_changed(void)
{
    static bool observes;
    bool wanted = base_log_wanted(BASE_LOG_DEBUG);

    pthread_mutex_lock(&classes_lock);
    base_observe(wanted - observes);
    observes = wanted;
    pthread_mutex_unlock(&classes_lock);
}

void
hg_class_stats_enter(struct hg_class *hg_class)
{
    base_log_on_level(level_changed);
    level_changed();
    pthread_mutex_lock(&classes_lock);
    LIST_INSERT_HEAD(&classes, hg_class, all_next);
    base_observe(hg_class->bulk.stats);
    hg_watch_start();
    pthread_mutex_unlock(&classes_lock);
}

void
hg_class_stats_leave(struct hg_class *hg_class)
{
    pthread_mutex_lock(&classes_lock);
    LIST_REMOVE(hg_class, all_next);
    base_observe(-hg_class->bulk.stats);
    pthread_mutex_unlock(&classes_lock);
    if (hg_class->bulk.stats && base_log_wanted(BASE_LOG_INFO))
        dump(hg_class);
}

void
HG_Diag_dump_counters(void)
{
    const struct hg_class *hg_class;

    pthread_mutex_lock(&classes_lock);
    LIST_FOREACH (hg_class, &classes, all_next)
        if (hg_class->bulk.stats)
            dump(hg_class);
    pthread_mutex_unlock(&classes_lock);
}

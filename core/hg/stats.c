/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting what becomes of RPCs, and handing the counts out. */
#include "hg/stats.h"

#include "base/log.h"
#include "base/time.h"
#include "hg/handle.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The place of a field. */
#define FIELD(name) (offsetof(struct hg_call_counts, name) / sizeof(uint64_t))

static void
add(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

static struct hg_counters *
counters_of(const struct hg_handle *handle)
{
    return &handle->context->hg_class->counters;
}

static enum talaria_failure
failure_of(hg_return_t ret)
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

static void
add_failure(_Atomic uint64_t *fields, uint64_t once, hg_return_t ret)
{
    add(&fields[FIELD(failures) + (size_t) failure_of(ret)], once);
}

/* Counts an answer; once: 1, or UINT64_MAX to take back what was counted. */
static void
add_answer(
    _Atomic uint64_t *fields, uint64_t once, uint64_t bytes, uint64_t took)
{
    size_t bucket = took > 1 ? 63U - (size_t) __builtin_clzll(took) : 0;

    if (bucket >= HG_STATS_BUCKETS)
        bucket = HG_STATS_BUCKETS - 1;
    add(&fields[FIELD(answers)], once);
    add(&fields[FIELD(answer_bytes)], once * bytes);
    add(&fields[FIELD(latency_ns)], once * took);
    add(&fields[FIELD(latency) + bucket], once);
}

/* The handle's end is to be counted. */
static void
watch(struct hg_handle *handle)
{
    handle->began = base_time_now();
    atomic_fetch_or_explicit(
        &handle->watch, HG_WATCH_STATS, memory_order_relaxed);
}

static void
unwatch(struct hg_handle *handle)
{
    atomic_fetch_and_explicit(
        &handle->watch, (uint8_t) ~HG_WATCH_STATS, memory_order_relaxed);
}

__attribute__((noinline, cold)) void
hg_stats_forward(struct hg_handle *handle)
{
    _Atomic uint64_t *fields = hg_rpc_stats_of(handle->rpc)->origin;

    add(&counters_of(handle)->request_sent, 1);
    add(&fields[FIELD(requests)], 1);
    add(&fields[FIELD(request_bytes)], HG_Get_input_payload_size(handle));
    watch(handle);
}

__attribute__((cold)) void
hg_stats_forwarded(struct hg_handle *handle)
{
    _Atomic uint64_t *fields = hg_rpc_stats_of(handle->rpc)->origin;
    hg_return_t ret =
        (hg_return_t) atomic_load_explicit(&handle->ret, memory_order_relaxed);

    unwatch(handle);
    if (ret != HG_SUCCESS) {
        add_failure(fields, 1, ret);
        return;
    }
    add_answer(fields, 1, HG_Get_output_payload_size(handle),
        base_time_now() - handle->began);
}

__attribute__((noinline, cold)) void
hg_stats_received(struct hg_handle *handle)
{
    _Atomic uint64_t *fields;

    add(&counters_of(handle)->request_received, 1);
    add(&counters_of(handle)->active, 1);
    watch(handle);
    if (!handle->rpc) {
        add(&counters_of(handle)->request_unknown, 1);
        return;
    }
    fields = hg_rpc_stats_of(handle->rpc)->target;
    add(&fields[FIELD(requests)], 1);
    add(&fields[FIELD(request_bytes)], handle->in.size);
}

/* The answer that the handle has; as add_answer. */
static void
add_response(struct hg_handle *handle, uint64_t once)
{
    _Atomic uint64_t *fields;

    add(&counters_of(handle)->response_sent, once);
    if (handle->out.overflow)
        add(&counters_of(handle)->response_extra, once);
    if (!handle->rpc)
        return;
    fields = hg_rpc_stats_of(handle->rpc)->target;
    if (handle->result != HG_SUCCESS)
        add_failure(fields, once, handle->result);
    add_answer(fields, once, HG_Get_output_payload_size(handle), handle->took);
}

/* Before it is sent, since its origin may ask for the counts as soon as it has
 * it. */
__attribute__((noinline, cold)) void
hg_stats_respond(struct hg_handle *handle, hg_return_t result)
{
    handle->took = base_time_now() - handle->began;
    handle->result = result;
    add_response(handle, 1);
}

__attribute__((noinline, cold)) void
hg_stats_not_responded(struct hg_handle *handle, hg_return_t ret)
{
    add_response(handle, UINT64_MAX);
    if (handle->rpc)
        add_failure(hg_rpc_stats_of(handle->rpc)->target, 1, ret);
}

__attribute__((noinline, cold)) void
hg_stats_dropped(struct hg_handle *handle)
{
    add(&hg_rpc_stats_of(handle->rpc)->target[FIELD(dropped)], 1);
}

__attribute__((noinline, cold)) void
hg_stats_released(struct hg_handle *handle)
{
    unwatch(handle);
    add(&counters_of(handle)->active, UINT64_MAX);
}

void
hg_stats_move(hg_stats_fields from, hg_stats_fields to)
{
    for (size_t i = 0; i < HG_STATS_FIELDS; i++)
        add(&to[i],
            atomic_exchange_explicit(&from[i], 0, memory_order_relaxed));
}

static uint64_t
value(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* One side's counts as they are returned. */
struct side {
    struct talaria_call_stats public;
    struct hg_call_counts counts;
};

struct rpc_stats {
    struct talaria_rpc_stats public;
    struct side origin;
    struct side target;
};

/* What is returned, in two allocations. */
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

/* Copies one side's counts and adds them to its sum. */
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

/* Names live as long as the class. Registry lock held. */
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
    stats->public.plugin = HG_Class_get_name(hg_class);
    stats->public.protocol = HG_Class_get_protocol(hg_class);
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

static LIST_HEAD(, hg_class) classes = LIST_HEAD_INITIALIZER(classes);
static pthread_mutex_t classes_lock = PTHREAD_MUTEX_INITIALIZER;

/* Whatever the level of the log is: who calls this wants to see them. */
static void
dump(const struct hg_class *hg_class)
{
    static const char *const names[] = {"requests sent", "requests received",
        "answers sent", "answers received", "requests with more than a message",
        "answers with more than a message", "requests being handled",
        "requests copied out", "bulk transfers"};
    uint64_t values[sizeof(struct hg_diag_counters) / sizeof(uint64_t)];
    struct hg_diag_counters counters;

    _Static_assert(
        sizeof names / sizeof names[0] == sizeof counters / sizeof(uint64_t),
        "each has a name");
    HG_Class_get_counters(hg_class, &counters);
    memcpy(values, &counters, sizeof values);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        base_log_write(BASE_LOG_HG, BASE_LOG_INFO, __FILE__, __LINE__,
            "%s+%s: %s: %llu", HG_Class_get_name(hg_class),
            HG_Class_get_protocol(hg_class), names[i],
            (unsigned long long) values[i]);
}

void
hg_stats_enter(struct hg_class *hg_class)
{
    pthread_mutex_lock(&classes_lock);
    LIST_INSERT_HEAD(&classes, hg_class, stats_next);
    pthread_mutex_unlock(&classes_lock);
}

void
hg_stats_leave(struct hg_class *hg_class)
{
    pthread_mutex_lock(&classes_lock);
    LIST_REMOVE(hg_class, stats_next);
    pthread_mutex_unlock(&classes_lock);
    if (base_log_wanted(BASE_LOG_INFO))
        dump(hg_class);
}

void
hg_stats_dump_all(void)
{
    const struct hg_class *hg_class;

    pthread_mutex_lock(&classes_lock);
    LIST_FOREACH (hg_class, &classes, stats_next)
        dump(hg_class);
    pthread_mutex_unlock(&classes_lock);
}

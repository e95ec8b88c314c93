/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of a class as JSON. */
#include "talaria.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

static const char *const failure_names[TALARIA_FAILURE_MAX] = {
    "canceled", "timeout", "unreachable", "message", "unknown_rpc", "other"};

const char *
talaria_failure_to_string(enum talaria_failure failure)
{
    return failure < TALARIA_FAILURE_MAX ? failure_names[failure] : NULL;
}

static json_t *
number(uint64_t value)
{
    return json_integer((json_int_t) value);
}

static json_t *
failures(const struct talaria_call_stats *stats)
{
    json_t *object = json_object();

    for (size_t i = 0; i < TALARIA_FAILURE_MAX; i++)
        json_object_set_new(
            object, failure_names[i], number(stats->failures[i]));
    return object;
}

/* All buckets up to the last one that is not 0. */
static json_t *
histogram(const struct talaria_call_stats *stats)
{
    json_t *array = json_array();
    size_t count = stats->latency_count;

    while (count > 0 && stats->latency[count - 1] == 0)
        count--;
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, number(stats->latency[i]));
    return array;
}

static json_t *
side(const struct talaria_call_stats *stats)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "requests",
        number(stats->requests), "request_bytes", number(stats->request_bytes),
        "answers", number(stats->answers), "answer_bytes",
        number(stats->answer_bytes), "dropped", number(stats->dropped),
        "failures", failures(stats), "latency_ns", number(stats->latency_ns),
        "latency_log2_ns", histogram(stats));
}

static json_t *
rpc(const struct talaria_rpc_stats *stats)
{
    char id[24];

    /* A JSON number can lose some of 64 bits. */
    snprintf(id, sizeof id, "%" PRIu64, stats->id);
    return json_pack("{s:s, s:s?, s:o, s:o}", "id", id, "name", stats->name,
        "origin", side(stats->origin), "target", side(stats->target));
}

static json_t *
rpcs(const struct talaria_class_stats *stats)
{
    json_t *array = json_array();

    for (size_t i = 0; i < stats->count; i++)
        json_array_append_new(array, rpc(stats->rpcs[i]));
    return array;
}

static json_t *
whole(const struct talaria_class_stats *stats)
{
    const struct hg_diag_counters *counters = stats->counters;

    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
                     "s:o, s:o, s:o}",
        "plugin", stats->plugin, "protocol", stats->protocol, "origin",
        side(stats->origin), "target", side(stats->target), "messages_dropped",
        number(stats->messages_dropped), "requests_unknown",
        number(stats->requests_unknown), "answers_late",
        number(stats->answers_late), "payloads_refused",
        number(stats->payloads_refused), "requests_active",
        number(counters->rpc_req_recv_active_count), "requests_extra",
        number(counters->rpc_req_extra_count), "answers_extra",
        number(counters->rpc_resp_extra_count), "multi_recv_copies",
        number(counters->rpc_multi_recv_copy_count), "bulk_transfers",
        number(counters->bulk_count), "rpcs", rpcs(stats));
}

hg_return_t
talaria_class_stats_json(hg_class_t *hg_class, char **json_p)
{
    struct talaria_class_stats *stats;
    json_t *json;
    char *text;
    hg_return_t ret;

    if (!json_p)
        return HG_INVALID_ARG;
    ret = talaria_class_stats(hg_class, &stats);
    if (ret != HG_SUCCESS)
        return ret;
    json = whole(stats);
    talaria_class_stats_free(stats);
    text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    if (!text)
        return HG_NOMEM;
    *json_p = text;
    return HG_SUCCESS;
}

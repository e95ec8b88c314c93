/* SPDX-License-Identifier: BSD-3-Clause */
/* The statistics of processes in the text exposition format of Prometheus. */
#include "export/metrics.h"

#include <inttypes.h>

/* Upper ends of the histogram's buckets: powers of two from 2^10 to 2^34 ns,
 * about 1 µs to 17 s. */
#define POWER_FIRST 10U
#define POWER_LAST 34U

/* Quotes what the format does; names have printable ASCII only. */
static void
write_text(FILE *stream, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', stream);
        fputc(*text, stream);
    }
}

static void
write_head(FILE *stream, const char *name, const char *type, const char *help)
{
    fprintf(stream, "# HELP talaria_%s %s\n# TYPE talaria_%s %s\n", name, help,
        name, type);
}

/* The beginning of a line: name and labels, up to those of the metric. */
static void
write_labels(FILE *stream, const char *metric,
    const struct reader_process *process, const char *label, const char *name,
    enum watch_side side)
{
    fprintf(stream, "talaria_%s{pid=\"%ld\",command=\"", metric,
        (long) process->pid);
    write_text(stream, process->command);
    fprintf(stream, "\",%s=\"", label);
    write_text(stream, name);
    fprintf(stream, "\",side=\"%s\"", view_side(side));
}

/* A number of each side of each RPC. */
static const struct {
    const char *name;
    size_t field;
    const char *help;
} rpc_metrics[] = {
    {"requests_total", WATCH_RPC_REQUESTS, "Requests sent or received."},
    {"request_bytes_total", WATCH_RPC_REQUEST_BYTES,
        "Bytes of their arguments."},
    {"responses_total", WATCH_RPC_ANSWERS, "Responses received or sent."},
    {"response_bytes_total", WATCH_RPC_ANSWER_BYTES, "Bytes of their results."},
    {"dropped_total", WATCH_RPC_DROPPED,
        "Requests dropped without a response."}};

/* The same of peers and transports. */
static const struct {
    const char *name;
    size_t field;
    const char *help;
} peer_metrics[] = {
    {"requests_total", WATCH_PEER_REQUESTS, "Requests sent or received."},
    {"sent_bytes_total", WATCH_PEER_BYTES_SENT, "Bytes of arguments sent."},
    {"received_bytes_total", WATCH_PEER_BYTES_RECEIVED,
        "Bytes of arguments received."},
    {"failures_total", WATCH_PEER_FAILURES, "Calls that failed."}};
static const struct {
    const char *name;
    size_t field;
    const char *help;
} bulk_metrics[] = {{"bulk_transfers_total", WATCH_PEER_BULK_TRANSFERS,
                        "Bulk transfers that the process has begun."},
    {"bulk_pushed_bytes_total", WATCH_PEER_BULK_SENT, "Bytes pushed by them."},
    {"bulk_pulled_bytes_total", WATCH_PEER_BULK_RECEIVED,
        "Bytes pulled by them."}};

typedef void rpc_writer(FILE *stream, const struct reader_process *process,
    const struct watch_rpc *rpc, enum watch_side side, size_t which);

/* Calls a function for each side of each RPC that was used. */
static void
each_rpc(
    FILE *stream, const struct reader *reader, rpc_writer *writer, size_t which)
{
    for (size_t i = 0; i < reader->count; i++) {
        const struct reader_process *process = reader->processes[i];

        for (size_t j = 0; process->valid && j < process->now.rpc_count; j++)
            for (int side = 0; side < WATCH_SIDES; side++)
                writer(stream, process, &process->now.rpcs[j],
                    (enum watch_side) side, which);
    }
}

static bool
is_used(const uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] != 0)
            return true;
    return false;
}

static const uint64_t *
values_of(const struct watch_rpc *rpc, enum watch_side side)
{
    const uint64_t *values = rpc->values + side * (size_t) WATCH_RPC_FIELDS;

    return is_used(values, WATCH_RPC_FIELDS) ? values : NULL;
}

static void
write_number(FILE *stream, const struct reader_process *process,
    const struct watch_rpc *rpc, enum watch_side side, size_t which)
{
    const uint64_t *values = values_of(rpc, side);

    if (!values)
        return;
    write_labels(
        stream, rpc_metrics[which].name, process, "rpc", rpc->name, side);
    fprintf(stream, ",id=\"%" PRIu64 "\"} %" PRIu64 "\n", rpc->key,
        values[rpc_metrics[which].field]);
}

static void
write_failures(FILE *stream, const struct reader_process *process,
    const struct watch_rpc *rpc, enum watch_side side, size_t which)
{
    const uint64_t *values = values_of(rpc, side);

    if (!values)
        return;
    write_labels(stream, "failures_total", process, "rpc", rpc->name, side);
    fprintf(stream, ",id=\"%" PRIu64 "\",kind=\"%s\"} %" PRIu64 "\n", rpc->key,
        view_failures[which], values[WATCH_RPC_FAILURE + which]);
}

static void
write_bucket(FILE *stream, const struct reader_process *process,
    const struct watch_rpc *rpc, enum watch_side side, const char *end,
    uint64_t count)
{
    write_labels(
        stream, "latency_seconds_bucket", process, "rpc", rpc->name, side);
    fprintf(stream, ",id=\"%" PRIu64 "\",le=\"%s\"} %" PRIu64 "\n", rpc->key,
        end, count);
}

static void
write_latency(FILE *stream, const struct reader_process *process,
    const struct watch_rpc *rpc, enum watch_side side, size_t which)
{
    const uint64_t *values = values_of(rpc, side);
    uint64_t sum = 0;
    unsigned next = 0;
    char end[32];

    if (!values)
        return;
    for (unsigned power = POWER_FIRST; power <= POWER_LAST; power++) {
        for (; next < watch_bucket(UINT64_C(1) << power); next++)
            sum += values[WATCH_RPC_LATENCY + next];
        snprintf(
            end, sizeof end, "%.10g", (double) (UINT64_C(1) << power) / 1e9);
        write_bucket(stream, process, rpc, side, end, sum);
    }
    for (; next < WATCH_BUCKETS; next++)
        sum += values[WATCH_RPC_LATENCY + next];
    write_bucket(stream, process, rpc, side, "+Inf", sum);
    write_labels(
        stream, "latency_seconds_sum", process, "rpc", rpc->name, side);
    fprintf(stream, ",id=\"%" PRIu64 "\"} %.9f\n", rpc->key,
        (double) values[WATCH_RPC_LATENCY_NS] / 1e9);
    write_labels(
        stream, "latency_seconds_count", process, "rpc", rpc->name, side);
    fprintf(stream, ",id=\"%" PRIu64 "\"} %" PRIu64 "\n", rpc->key, sum);
}

static void
write_rpcs(FILE *stream, const struct reader *reader)
{
    for (size_t i = 0; i < sizeof rpc_metrics / sizeof rpc_metrics[0]; i++) {
        write_head(stream, rpc_metrics[i].name, "counter", rpc_metrics[i].help);
        each_rpc(stream, reader, write_number, i);
    }
    write_head(stream, "failures_total", "counter", "Calls that failed.");
    for (size_t i = 0; i < WATCH_FAILURES; i++)
        each_rpc(stream, reader, write_failures, i);
    write_head(stream, "latency_seconds", "histogram",
        "Time of a call at its origin, and from request to response at its "
        "target.");
    each_rpc(stream, reader, write_latency, 0);
}

/* label: "peer" or "transport". */
static void
write_table(FILE *stream, const struct reader *reader, const char *label,
    const char *name, size_t field, const char *help)
{
    bool peers = label[0] == 'p';
    char metric[64];

    snprintf(metric, sizeof metric, "%s_%s", label, name);
    write_head(stream, metric, "counter", help);
    for (size_t i = 0; i < reader->count; i++) {
        const struct reader_process *process = reader->processes[i];
        const struct watch_body *body = &process->now;
        const struct watch_peer *rows = peers ? body->peers : body->transports;
        size_t count = peers ? body->peer_count : body->transport_count;

        for (size_t j = 0; process->valid && j < count; j++)
            for (size_t side = 0; side < WATCH_SIDES; side++) {
                const uint64_t *values =
                    rows[j].values + side * WATCH_PEER_FIELDS;

                if (!is_used(values, WATCH_PEER_FIELDS))
                    continue;
                write_labels(stream, metric, process, label, rows[j].name,
                    (enum watch_side) side);
                fprintf(stream, "} %" PRIu64 "\n", values[field]);
            }
    }
}

/* Seconds of a process. */
static void
write_times(FILE *stream, const struct reader *reader, const char *name,
    const char *help, bool counted)
{
    write_head(stream, name, "counter", help);
    for (size_t i = 0; i < reader->count; i++) {
        const struct reader_process *process = reader->processes[i];

        if (!process->valid)
            continue;
        fprintf(stream, "talaria_%s{pid=\"%ld\",command=\"", name,
            (long) process->pid);
        write_text(stream, process->command);
        fprintf(stream, "\"} %.9f\n",
            (double) (counted ? process->now.counted_ns
                              : process->now.watched_ns) /
                1e9);
    }
}

void
metrics_write(FILE *stream, const struct reader *reader)
{
    write_head(stream, "processes", "gauge", "Processes that publish.");
    fprintf(stream, "talaria_processes %zu\n", reader->count);
    write_times(stream, reader, "watched_seconds_total",
        "Time in which calls were counted or estimated.", false);
    write_times(stream, reader, "counted_seconds_total",
        "Part of it in which every call was counted.", true);
    write_rpcs(stream, reader);
    for (size_t i = 0; i < sizeof peer_metrics / sizeof peer_metrics[0]; i++) {
        write_table(stream, reader, "peer", peer_metrics[i].name,
            peer_metrics[i].field, peer_metrics[i].help);
        write_table(stream, reader, "transport", peer_metrics[i].name,
            peer_metrics[i].field, peer_metrics[i].help);
    }
    for (size_t i = 0; i < sizeof bulk_metrics / sizeof bulk_metrics[0]; i++)
        write_table(stream, reader, "transport", bulk_metrics[i].name,
            bulk_metrics[i].field, bulk_metrics[i].help);
}

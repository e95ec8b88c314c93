/* SPDX-License-Identifier: BSD-3-Clause */
/* Views as text and as JSON. */
#include "top/show.h"

#include "common/output.h"

#include <inttypes.h>

#define CELL 24
#define COLUMNS 7
#define NAME_WIDTH 28

struct cells {
    char text[COLUMNS][CELL];
};

/* A number with a letter for thousands, three digits of it. */
static void
write_number(char cell[CELL], double value)
{
    static const char letters[] = " kMGTPE";
    size_t i = 0;

    for (; value >= 999.5 && i + 2 < sizeof letters; i++)
        value /= 1000;
    if (i == 0)
        snprintf(cell, CELL, value > 0 && value < 10 ? "%.1f" : "%.0f", value);
    else
        snprintf(cell, CELL, "%.*f%c",
            value < 10    ? 2
            : value < 100 ? 1
                          : 0,
            value, letters[i]);
}

/* A rate is unknown when there is no earlier snapshot. */
static void
write_rate(char cell[CELL], const struct view *view, double value)
{
    if (view->seconds > 0)
        write_number(cell, value);
    else
        snprintf(cell, CELL, "-");
}

static void
write_time(char cell[CELL], double ns)
{
    if (ns <= 0)
        snprintf(cell, CELL, "-");
    else if (ns < 1e3)
        snprintf(cell, CELL, "%.0f ns", ns);
    else if (ns < 1e6)
        snprintf(cell, CELL, "%.*f µs", ns < 1e4, ns / 1e3);
    else if (ns < 1e9)
        snprintf(cell, CELL, "%.*f ms", ns < 1e7, ns / 1e6);
    else
        snprintf(cell, CELL, "%.1f s", ns / 1e9);
}

static double
failures_of(const struct view_rpc *row)
{
    double failures = 0;

    for (size_t i = 0; i < WATCH_FAILURES; i++)
        failures += (double) row->values[WATCH_RPC_FAILURE + i];
    return failures;
}

/* Columns that a text takes. */
static int
width_of(const char *text)
{
    int width = 0;

    /* Bytes of a character after the first take none. */
    for (; *text; text++)
        width += ((unsigned char) *text & 0xc0) != 0x80;
    return width;
}

static void
show_row(FILE *stream, const char *name, const char *const *texts,
    const int *widths, size_t columns)
{
    fprintf(stream, "  %-*.*s  %-*s", widths[0], widths[0], name, widths[1],
        texts[1]);
    for (size_t j = 2; j < columns; j++)
        fprintf(
            stream, "  %*s%s", widths[j] - width_of(texts[j]), "", texts[j]);
    fputc('\n', stream);
}

/* The first two columns are texts, the others numbers. */
static void
show_table(FILE *stream, const char *const *head, size_t columns,
    const struct cells *cells, const char *const *names, size_t count)
{
    const char *texts[COLUMNS];
    int widths[COLUMNS];

    for (size_t j = 0; j < columns; j++)
        widths[j] = j == 0 ? NAME_WIDTH : width_of(head[j]);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 1; j < columns; j++)
            if (width_of(cells[i].text[j]) > widths[j])
                widths[j] = width_of(cells[i].text[j]);
    show_row(stream, head[0], head, widths, columns);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < columns; j++)
            texts[j] = cells[i].text[j];
        show_row(stream, names[i], texts, widths, columns);
    }
}

static void
show_rpcs(FILE *stream, const struct view *view)
{
    static const char *const head[] = {
        "RPC", "SIDE", "RPC/S", "P50", "P99", "FAILED/S", "FAILED"};
    static struct cells cells[WATCH_SIDES * WATCH_RPCS];
    const char *names[WATCH_SIDES * WATCH_RPCS];

    for (size_t i = 0; i < view->rpc_count; i++) {
        const struct view_rpc *row = &view->rpcs[i];
        char(*text)[CELL] = cells[i].text;

        names[i] = row->name;
        snprintf(text[1], CELL, "%s", view_side(row->side));
        write_rate(text[2], view, row->rate);
        write_time(text[3], row->p50_ns);
        write_time(text[4], row->p99_ns);
        write_rate(text[5], view, row->failure_rate);
        write_number(text[6], failures_of(row));
    }
    show_table(stream, head, sizeof head / sizeof head[0], cells, names,
        view->rpc_count);
}

/* Peers stay in the page after they have ended. */
static bool
is_idle(const struct view_peer *row)
{
    return row->rate + row->sent_rate + row->received_rate + row->bulk_rate +
               row->failure_rate <=
           0;
}

/* Leaves idle peers out, and says how many. */
static void
show_peers(FILE *stream, const struct view *view, const struct view_peer *rows,
    size_t count, bool transports)
{
    const char *const head[] = {transports ? "TRANSPORT" : "PEER", "SIDE",
        "RPC/S", "SENT B/S", "RECEIVED B/S", "FAILED/S", "BULK B/S"};
    static struct cells cells[WATCH_SIDES * WATCH_PEERS];
    const char *names[WATCH_SIDES * WATCH_PEERS];
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        char(*text)[CELL] = cells[used].text;

        if (!transports && view->seconds > 0 && is_idle(&rows[i]))
            continue;
        names[used++] = rows[i].name;
        snprintf(text[1], CELL, "%s", view_side(rows[i].side));
        write_rate(text[2], view, rows[i].rate);
        write_rate(text[3], view, rows[i].sent_rate);
        write_rate(text[4], view, rows[i].received_rate);
        write_rate(text[5], view, rows[i].failure_rate);
        write_rate(text[6], view, rows[i].bulk_rate);
    }
    if (used > 0)
        show_table(stream, head, transports ? 7 : 6, cells, names, used);
    if (used < count)
        fprintf(stream, "  %zu peers without traffic\n", count - used);
}

void
show_text(FILE *stream, const struct view *view)
{
    const struct reader_process *process = view->process;
    char rate[CELL];

    write_rate(rate, view, view->rate);
    fprintf(stream, "%ld %s: ", (long) process->pid, process->command);
    if (!process->valid) {
        fputs("publishes nothing yet\n", stream);
        return;
    }
    fprintf(stream, "%s RPC/s%s\n", rate,
        view->share > 0.99 ? "" : ", estimated from a part of the calls");
    if (view->rpc_count > 0)
        show_rpcs(stream, view);
    if (view->transport_count > 0)
        show_peers(stream, view, view->transports, view->transport_count, true);
    if (view->peer_count > 0)
        show_peers(stream, view, view->peers, view->peer_count, false);
}

static json_t *
number(uint64_t value)
{
    return json_integer((json_int_t) (value & INT64_MAX));
}

static json_t *
rpc_json(const struct view_rpc *row)
{
    json_t *failures = json_object();
    char id[24];

    for (size_t i = 0; i < WATCH_FAILURES; i++)
        json_object_set_new(failures, view_failures[i],
            number(row->values[WATCH_RPC_FAILURE + i]));
    /* A JSON number can lose some of 64 bits. */
    snprintf(id, sizeof id, "%" PRIu64, row->id);
    return json_pack("{s:o, s:s, s:s, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:o, "
                     "s:o, s:o}",
        "name", output_json_text(row->name), "id", id, "side",
        view_side(row->side), "rate", row->rate, "failure_rate",
        row->failure_rate, "p50_ns", row->p50_ns, "p99_ns", row->p99_ns,
        "requests", number(row->values[WATCH_RPC_REQUESTS]), "request_bytes",
        number(row->values[WATCH_RPC_REQUEST_BYTES]), "answers",
        number(row->values[WATCH_RPC_ANSWERS]), "answer_bytes",
        number(row->values[WATCH_RPC_ANSWER_BYTES]), "dropped",
        number(row->values[WATCH_RPC_DROPPED]), "failures", failures);
}

static json_t *
peer_json(const struct view_peer *row)
{
    return json_pack("{s:o, s:s, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
        "name", output_json_text(row->name), "side", view_side(row->side),
        "rate", row->rate, "requests", number(row->values[WATCH_PEER_REQUESTS]),
        "bytes_sent", number(row->values[WATCH_PEER_BYTES_SENT]),
        "bytes_received", number(row->values[WATCH_PEER_BYTES_RECEIVED]),
        "failures", number(row->values[WATCH_PEER_FAILURES]), "bulk_transfers",
        number(row->values[WATCH_PEER_BULK_TRANSFERS]), "bulk_bytes_sent",
        number(row->values[WATCH_PEER_BULK_SENT]), "bulk_bytes_received",
        number(row->values[WATCH_PEER_BULK_RECEIVED]));
}

json_t *
show_json(const struct view *view)
{
    json_t *rpcs = json_array(), *peers = json_array();
    json_t *transports = json_array();

    for (size_t i = 0; i < view->rpc_count; i++)
        output_json_append(&rpcs, rpc_json(&view->rpcs[i]));
    for (size_t i = 0; i < view->peer_count; i++)
        output_json_append(&peers, peer_json(&view->peers[i]));
    for (size_t i = 0; i < view->transport_count; i++)
        output_json_append(&transports, peer_json(&view->transports[i]));
    return json_pack("{s:i, s:o, s:b, s:f, s:f, s:f, s:o, s:o, s:o}", "pid",
        (int) view->process->pid, "command",
        output_json_text(view->process->command), "published",
        (int) view->process->valid, "seconds", view->seconds, "counted_share",
        view->share, "rate", view->rate, "rpcs", rpcs, "peers", peers,
        "transports", transports);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* `talaria export`: statistics of processes for Prometheus. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/tool.h"
#include "export/metrics.h"
#include "export/serve.h"

#define PORT_DEFAULT 9791
#define LOOK_S 2U

struct export
{
    uint16_t port;
    bool once;
};

static uint16_t
port_number(struct argp_state *state, const char *arg)
{
    char *end;
    unsigned long value = strtoul(arg, &end, 10);

    if (end == arg || *end != '\0' || arg[0] == '-' || value > UINT16_MAX)
        argp_error(state, "'%s' is not a number from 0 to %u", arg,
            (unsigned) UINT16_MAX);
    return (uint16_t) value;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    struct export *export = state->input;

    switch (key) {
    case 'o':
        export->once = true;
        return 0;
    case 'p':
        export->port = port_number(state, arg);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "too many arguments");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Waits until processes that had no reader before have published. */
static int
print_once(struct reader *reader)
{
    const struct timespec pause = {.tv_nsec = 500000000};

    if (!reader_search(reader)) {
        fprintf(stderr, "talaria export: /proc: %s\n", strerror(errno));
        return TOOL_FAILED;
    }
    reader_look(reader, LOOK_S);
    if (reader->count > 0)
        nanosleep(&pause, NULL);
    reader_take(reader);
    metrics_write(stdout, reader);
    return TOOL_OK;
}

int
tool_export(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {.name = "once", .key = 'o', .doc = "Print the metrics and end"},
        {.name = "port",
            .key = 'p',
            .arg = "PORT",
            .doc = "Port of 127.0.0.1 (default 9791); 0: a free one"},
        {0}};
    static const struct argp argp = {.options = options,
        .parser = parse,
        .doc = "Serves the statistics of the processes that were started with "
               "TALARIA_PUBLISH=1 to Prometheus, at "
               "http://127.0.0.1:9791/metrics.\v" TOOL_EXIT_CODES};
    struct export export = {.port = PORT_DEFAULT};
    struct reader reader = {.count = 0};
    int status;

    if (argp_parse(&argp, argc, argv, 0, NULL, &export) != 0)
        return TOOL_USAGE;
    status =
        export.once ? print_once(&reader) : serve_metrics(&reader, export.port);
    reader_finish(&reader);
    return status;
}

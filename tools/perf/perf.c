/* SPDX-License-Identifier: BSD-3-Clause */
/* talaria perf: finds an action and runs it. */
#include <stdio.h>
#include <string.h>

#include "common/tool.h"
#include "perf/callgrind.h"
#include "perf/compare.h"
#include "perf/plot.h"
#include "perf/run.h"
#include "perf/serve.h"

/* run is NULL for the actions that measure, in the order of enum perf_action.
 * summary is NULL for those that users don't call. */
static const struct tool actions[] = {
    [PERF_ACTION_LAT] = {"lat", "latency of an operation", NULL},
    [PERF_ACTION_RATE] = {"rate", "operations per second", NULL},
    [PERF_ACTION_BW] = {"bw", "bytes read and written per second", NULL},
    {"serve", "serve the measurements of other processes", perf_serve_main},
    {"compare", "compare two results", perf_compare},
    {"plot", "draw results", perf_plot},
    {PERF_CALLGRIND_ACTION, NULL, perf_callgrind_loop},
};

static void
print_help(FILE *stream)
{
    fputs("Usage: talaria perf ACTION [OPTION...] [ARGUMENT...]\n"
          "Measures a transport, RPCs and bulk transfers.\n\nActions:\n",
        stream);
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (actions[i].summary)
            fprintf(
                stream, "  %-10s %s\n", actions[i].name, actions[i].summary);
    fputs("\nExamples:\n"
          "  talaria perf lat --local na+sm --busy\n"
          "  talaria perf serve --token-file F ofi+tcp://10.0.0.1\n"
          "  talaria perf bw --token-file F --size 4K:16M "
          "ofi+tcp://10.0.0.1:40000\n"
          "\n\"talaria perf ACTION --help\" tells more.\n" TOOL_EXIT_CODES "\n",
        stream);
}

int
tool_perf(int argc, char **argv)
{
    struct perf_options options;
    char name[64];

    if (argc < 2) {
        fputs("talaria perf: an action is missing\n", stderr);
        print_help(stderr);
        return TOOL_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0) {
        print_help(stdout);
        return TOOL_OK;
    }
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(actions[i].name, argv[1]) != 0)
            continue;
        snprintf(name, sizeof name, "talaria perf %s", actions[i].name);
        argv[1] = name;
        if (actions[i].run)
            return actions[i].run(argc - 1, argv + 1);
        perf_options_parse((enum perf_action) i, argc - 1, argv + 1, &options);
        return perf_run(name, &options);
    }
    fprintf(stderr,
        "talaria perf: no action \"%s\"\n\"talaria perf --help\" lists "
        "them.\n",
        argv[1]);
    return TOOL_USAGE;
}

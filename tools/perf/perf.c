/* SPDX-License-Identifier: BSD-3-Clause */
/* talaria perf: finds the action and hands it the rest. */
#include <stdio.h>
#include <string.h>

#include "common/tool.h"
#include "perf/callgrind.h"
#include "perf/compare.h"
#include "perf/plot.h"
#include "perf/run.h"
#include "perf/serve.h"

static int
run_lat(int argc, char **argv)
{
    struct perf_options options;

    perf_options_parse(PERF_ACTION_LAT, argc, argv, &options);
    return perf_run(argv[0], &options);
}

static int
run_rate(int argc, char **argv)
{
    struct perf_options options;

    perf_options_parse(PERF_ACTION_RATE, argc, argv, &options);
    return perf_run(argv[0], &options);
}

static int
run_bw(int argc, char **argv)
{
    struct perf_options options;

    perf_options_parse(PERF_ACTION_BW, argc, argv, &options);
    return perf_run(argv[0], &options);
}

/* Those without a summary are for the program itself. */
static const struct tool actions[] = {
    {"lat", "how long an operation takes", run_lat},
    {"rate", "how many operations there are in a second", run_rate},
    {"bw", "how many bytes are read and written in a second", run_bw},
    {"serve", "the other side of these, as a command of its own",
        perf_serve_main},
    {"compare", "two results, point by point", perf_compare},
    {"plot", "results as a picture", perf_plot},
    {PERF_CALLGRIND_ACTION, NULL, perf_callgrind_loop},
};

static void
print_help(FILE *stream)
{
    fputs("Usage: talaria perf ACTION [OPTION...] [ARGUMENT...]\n"
          "Measures a transport, and what is built on it.\n\nActions:\n",
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
        return actions[i].run(argc - 1, argv + 1);
    }
    fprintf(stderr,
        "talaria perf: no action \"%s\"\n\"talaria perf --help\" lists "
        "them.\n",
        argv[1]);
    return TOOL_USAGE;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of talaria perf serve. */
#include <argp.h>
#include <unistd.h>

#include "perf/serve.h"
#include "perf/sizes.h"
#include "tool.h"

enum { KEY_BUSY = 256, KEY_SINGLE, KEY_PIN, KEY_ONCE };

static const struct argp_option options[] = {
    {"busy", KEY_BUSY, NULL, 0,
        "Poll all the time while something is measured, instead of waiting", 0},
    {"single-thread", KEY_SINGLE, NULL, 0,
        "NA_THREAD_MODE_SINGLE: without locks; clients have one thread for "
        "each "
        "class then",
        0},
    {"pin", KEY_PIN, "CPU", 0, "Run on this processor only", 0},
    {"once", KEY_ONCE, NULL, 0, "End when a client has finished", 0}, {0}};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    struct perf_serve_options *serve = state->input;
    uint64_t cpu;

    switch (key) {
    case KEY_BUSY:
        serve->busy = true;
        return 0;
    case KEY_SINGLE:
        serve->single = true;
        return 0;
    case KEY_PIN:
        if (!perf_number_read(arg, false, 0, 1023, &cpu))
            argp_error(state, "--pin: \"%s\" is no processor", arg);
        serve->cpu = (int32_t) cpu;
        return 0;
    case KEY_ONCE:
        serve->once = true;
        return 0;
    case ARGP_KEY_ARG:
        if (serve->info)
            argp_error(state, "more than one INFO");
        serve->info = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "INFO is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int
perf_serve_main(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
        .parser = parse,
        .args_doc = "INFO",
        .doc = "Serves measurements over the transport INFO, such as na+sm, "
               "until SIGINT or SIGTERM. The first line of standard output is "
               "the address for clients.\v" TOOL_EXIT_CODES};
    struct perf_serve_options serve = {.cpu = -1, .fd = STDOUT_FILENO};

    argp_err_exit_status = TOOL_USAGE;
    if (argp_parse(&argp, argc, argv, 0, NULL, &serve) != 0)
        return TOOL_FAILED;
    return perf_serve(&serve);
}

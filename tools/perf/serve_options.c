/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of talaria perf serve. */
#include <argp.h>
#include <stdio.h>
#include <unistd.h>

#include "common/listen.h"
#include "common/token.h"
#include "common/tool.h"
#include "perf/control.h"
#include "perf/serve.h"
#include "perf/sizes.h"

#define IDLE_MAX 86400 /* a day */
#define ONCE_MAX 1000000

enum { KEY_BUSY = 256, KEY_SINGLE, KEY_PIN, KEY_ONCE, KEY_IDLE, KEY_TOKEN };

struct input {
    struct perf_serve_options serve;
    const char *token_file;
};

static const struct argp_option options[] = {
    {"busy", KEY_BUSY, NULL, 0,
        "Poll instead of waiting while a client measures", 0},
    {"single-thread", KEY_SINGLE, NULL, 0,
        "Use NA_THREAD_MODE_SINGLE, without locks; clients have one thread for "
        "each class then",
        0},
    {"pin", KEY_PIN, "CPU", 0, "Run on this processor only", 0},
    {"once", KEY_ONCE, "N", OPTION_ARG_OPTIONAL,
        "Exit after N clients (default 1) have finished and none is left", 0},
    {"idle", KEY_IDLE, "SECONDS", 0,
        "Drop a client after SECONDS without a request (default 300), at most "
        "30 s while it measures; it sends one every 5 s then",
        0},
    {"token-file", KEY_TOKEN, "FILE", 0, TOKEN_SERVER_DOC, 0}, {0}};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    struct input *input = state->input;
    struct perf_serve_options *serve = &input->serve;
    uint64_t cpu;
    uint64_t idle;
    uint64_t once;

    switch (key) {
    case KEY_BUSY:
        serve->busy = true;
        return 0;
    case KEY_SINGLE:
        serve->single = true;
        return 0;
    case KEY_PIN:
        if (!perf_number_read(arg, false, 0, 1023, &cpu))
            argp_error(state, "--pin: \"%s\" is not a processor", arg);
        serve->cpu = (int32_t) cpu;
        return 0;
    case KEY_ONCE:
        if (!perf_number_read(arg ? arg : "1", false, 1, ONCE_MAX, &once))
            argp_error(state, "--once: \"%s\" is not a number from 1 to %d",
                arg, ONCE_MAX);
        serve->once = (uint32_t) once;
        return 0;
    case KEY_IDLE:
        if (!perf_number_read(arg, false, 1, IDLE_MAX, &idle))
            argp_error(state, "--idle: \"%s\" is not a number from 1 to %d",
                arg, IDLE_MAX);
        serve->idle = (uint32_t) idle;
        return 0;
    case KEY_TOKEN:
        input->token_file = arg;
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
               "the address for clients. " LISTEN_DOC "\v" TOOL_EXIT_CODES};
    struct input input = {
        .serve = {.cpu = -1, .fd = STDOUT_FILENO, .idle = PERF_IDLE_DEFAULT}};
    struct token *token = NULL;
    const char *reason = NULL;
    int result;

    argp_err_exit_status = TOOL_USAGE;
    if (argp_parse(&argp, argc, argv, 0, NULL, &input) != 0)
        return TOOL_FAILED;
    if (input.token_file)
        reason = token_read(input.token_file, &token);
    if (reason) {
        fprintf(
            stderr, "talaria perf serve: %s: %s\n", input.token_file, reason);
        return TOOL_FAILED;
    }
    input.serve.token = token;
    result = perf_serve(&input.serve);
    token_free(token);
    return result;
}

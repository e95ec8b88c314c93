/* SPDX-License-Identifier: BSD-3-Clause */
/* The command talaria: finds a subcommand and runs it. */
#include "common/tool.h"
#include "talaria_version.h"

#include <argp.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tool tools[] = {
    {"check", "check a plugin against the transport ABI", tool_check},
    {"copy", "copy files to and from a server", tool_copy},
    {"info", "list plugins, or open one and show its properties", tool_info},
    {"manifest", "write the manifest of a plugin", tool_manifest},
    {"perf", "measure latency, rate and bandwidth of a transport", tool_perf},
    {"ping", "call a server and report why it does not answer", tool_ping},
};

const char *argp_program_version = "talaria " TALARIA_VERSION;

static const struct tool *
find_tool(const char *name)
{
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}

/* Adds the list of subcommands after the options. */
static char *
help_filter(int key, const char *text, void *input)
{
    char *list = NULL;
    size_t size;
    FILE *stream;

    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *) (uintptr_t) text;
    stream = open_memstream(&list, &size);
    if (!stream)
        return (char *) (uintptr_t) text;
    fputs("Subcommands:\n", stream);
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        fprintf(stream, "  %-10s %s\n", tools[i].name, tools[i].summary);
    fprintf(stream, "\n\"talaria SUBCOMMAND --help\" tells more.\n%s\n", text);
    fclose(stream);
    return list;
}

/* Stops at the subcommand, which parses the other arguments. */
static error_t
parse_option(int key, char *arg, struct argp_state *state)
{
    int *first = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        *first = state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a subcommand is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Standard output may be a full disk. */
static int
finish_output(int result)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return result;
    fprintf(stderr, "talaria: standard output: %s\n", strerror(errno));
    return TOOL_FAILED;
}

int
main(int argc, char **argv)
{
    static const struct argp argp = {.parser = parse_option,
        .args_doc = "SUBCOMMAND [ARGUMENT...]",
        .doc = "Examines and uses transport plugins.\v" TOOL_EXIT_CODES,
        .help_filter = help_filter};
    const struct tool *tool;
    char name[64];
    int first = 0;

    argp_err_exit_status = TOOL_USAGE;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &first) != 0)
        return TOOL_FAILED;
    tool = find_tool(argv[first]);
    if (!tool) {
        fprintf(stderr,
            "talaria: no subcommand \"%s\"\n"
            "\"talaria --help\" lists them.\n",
            argv[first]);
        return TOOL_USAGE;
    }
    snprintf(name, sizeof name, "talaria %s", tool->name);
    argv[first] = name;
    return finish_output(tool->run(argc - first, argv + first));
}

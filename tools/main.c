/* SPDX-License-Identifier: BSD-3-Clause */
/* The command talaria: finds a subcommand and runs it. */
#include "common/tool.h"
#include "settings/near.h"
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
    {"doctor", "check the machine, the environment, plugins and transports",
        tool_doctor},
    {"export", "serve the statistics of processes to Prometheus", tool_export},
    {"info", "list plugins, or open one and show its properties", tool_info},
    {"manifest", "write the manifest of a plugin", tool_manifest},
    {"perf", "measure latency, rate and bandwidth of a transport", tool_perf},
    {"ping", "call a server and report why it does not answer", tool_ping},
    {"settings", "show all settings, their values and defaults", tool_settings},
    {"top", "show what processes that publish their statistics do", tool_top},
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

/* Reports an unknown subcommand. */
static int
no_tool(const char *name)
{
    struct near near;
    const char *found;

    near_init(&near, name);
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        near_try(&near, tools[i].name);
    found = near_result(&near);
    fprintf(stderr, "talaria: no subcommand \"%s\"%s%s%s\n", name,
        found ? ": did you mean " : "", found ? found : "", found ? "?" : "");
    if (!found)
        fputs("\"talaria help\" lists them.\n", stderr);
    return TOOL_USAGE;
}

/* "help" and "help SUBCOMMAND" are "--help" and "SUBCOMMAND --help". words: has
 * room for three, and a NULL. Returns their number. */
static int
translate_help(int argc, char **argv, char **words)
{
    static char option[] = "--help";
    int count = 0;

    words[count++] = argv[0];
    if (argc > 2)
        words[count++] = argv[2];
    words[count++] = option;
    words[count] = NULL;
    return count;
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
    fprintf(stream, "\n\"talaria help SUBCOMMAND\" tells more.\n%s\n", text);
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
    char *words[4];
    int first = 0;

    argp_err_exit_status = TOOL_USAGE;
    if (argc > 1 && strcmp(argv[1], "help") == 0) {
        argc = translate_help(argc, argv, words);
        argv = words;
    }
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &first) != 0)
        return TOOL_FAILED;
    tool = find_tool(argv[first]);
    if (!tool)
        return no_tool(argv[first]);
    snprintf(name, sizeof name, "talaria %s", tool->name);
    argv[first] = name;
    return finish_output(tool->run(argc - first, argv + first));
}

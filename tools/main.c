/* SPDX-License-Identifier: BSD-3-Clause */
/* The command talaria: finds the subcommand and hands it the rest. */
#include "common/tool.h"
#include "talaria_version.h"

#include <argp.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tool tools[] = {
    {"check", "check whether a plugin keeps the contract", tool_check},
    {"copy", "copy files to and from a server, or be one", tool_copy},
    {"info", "list plugins, or show what one offers", tool_info},
    {"manifest", "write the manifest of a plugin", tool_manifest},
    {"perf", "measure a transport", tool_perf},
    {"ping", "call a server, or say why it does not answer", tool_ping},
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

/* The list of subcommands, in place of the mark in the documentation. */
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

/* Stops at the subcommand: what follows is its own. */
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

/* What was printed may not have reached its file. */
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
        .doc = "Looks at transport plugins and uses them.\v" TOOL_EXIT_CODES,
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

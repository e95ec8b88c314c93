/* SPDX-License-Identifier: BSD-3-Clause */
/* talaria manifest: writes the manifest of a plugin. */
#include "common/tool.h"
#include "talaria.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct arguments {
    const char *plugin;
    const char *output; /* NULL: standard output */
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "Write FILE instead of standard output", 0},
    {0},
};

static error_t
parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case 'o':
        arguments->output = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->plugin)
            argp_error(state, "one plugin at a time");
        arguments->plugin = arg;
        return 0;
    case ARGP_KEY_END:
        if (!arguments->plugin)
            argp_error(state, "PLUGIN is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Removes a regular file that could not be written completely. */
static int
write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    bool is_file;
    struct stat st;
    int err = 0;

    if (!file) {
        fprintf(stderr, "talaria manifest: %s: %s\n", path, strerror(errno));
        return TOOL_FAILED;
    }
    is_file = fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode);
    if (fputs(text, file) == EOF)
        err = errno;
    if (fclose(file) != 0 && err == 0)
        err = errno;
    if (err == 0)
        return TOOL_OK;
    fprintf(stderr, "talaria manifest: %s: %s\n", path, strerror(err));
    if (is_file)
        remove(path);
    return TOOL_FAILED;
}

int
tool_manifest(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
        .parser = parse_option,
        .args_doc = "PLUGIN",
        .doc = "Writes the manifest of the shared object PLUGIN, from the "
               "table of the plugin. It belongs in the folder of PLUGIN, with "
               "a name that ends in .json.\v" TOOL_EXIT_CODES};
    struct arguments arguments = {NULL, NULL};
    char *json;
    int result = TOOL_OK;

    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
        return TOOL_FAILED;
    /* The library logs the error. */
    if (talaria_plugin_describe(arguments.plugin, &json) != NA_SUCCESS)
        return TOOL_FAILED;
    if (arguments.output)
        result = write_file(arguments.output, json);
    else
        fputs(json, stdout);
    free(json);
    return result;
}

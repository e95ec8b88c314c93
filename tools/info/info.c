/* SPDX-License-Identifier: BSD-3-Clause */
/* talaria info: lists plugins by their manifests, or opens one. */
#include "info/info.h"

#include "common/tool.h"

#include <argp.h>
#include <stdbool.h>

struct arguments {
    const char *info_string; /* NULL: list plugins */
    bool json;
};

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "Print JSON", 0},
    {0},
};

static error_t
parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case 'j':
        arguments->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->info_string)
            argp_error(state, "one INFO at a time");
        arguments->info_string = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int
tool_info(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
        .parser = parse_option,
        .args_doc = "[INFO]",
        .doc =
            "Lists the plugins that are found, by their manifests, and why "
            "some are refused; loads nothing.\n\n"
            "With INFO, an info string such as ofi+tcp or na+sm, opens that "
            "plugin and shows its limits, features, choices and devices; if "
            "that fails, all candidates and their errors.\v" TOOL_EXIT_CODES};
    struct arguments arguments = {NULL, false};

    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
        return TOOL_FAILED;
    if (arguments.info_string)
        return info_class(arguments.info_string, arguments.json);
    return info_list(arguments.json);
}

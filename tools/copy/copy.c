/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of `talaria copy`. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/listen.h"
#include "common/token.h"
#include "copy/copy.h"
#include "copy/signal.h"

#define JOBS_DEFAULT 8
#define JOBS_MAX 64
#define IDLE_DEFAULT 600
#define IDLE_MAX (7 * 24 * 3600)

enum {
    KEY_ADDRESS_FILE = 256,
    KEY_IDLE,
    KEY_INTO,
    KEY_RESUME,
    KEY_JSON,
    KEY_TOKEN
};

struct command {
    const char *name;
    int (*run)(const struct copy_options *options);
    int least; /* arguments */
    int most;  /* -1: any number */
    const struct argp argp;
};

struct input {
    const struct command *command;
    struct copy_options options;
    char **arguments;
    int count;
};

static unsigned int
number(struct argp_state *state, const char *arg, const char *what,
    unsigned int least, unsigned int most)
{
    char *end;
    unsigned long value;

    errno = 0;
    value = strtoul(arg, &end, 10);
    if (errno != 0 || end == arg || *end != 0 || arg[0] == '-' ||
        value < least || value > most)
        argp_error(state, "%s: '%s' is not a number from %u to %u", what, arg,
            least, most);
    return (unsigned int) value;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    struct input *input = state->input;
    struct copy_options *options = &input->options;

    switch (key) {
    case 'f':
        options->force = true;
        return 0;
    case 'j':
        options->jobs = number(state, arg, "--jobs", 1, JOBS_MAX);
        return 0;
    case 'r':
        options->recursive = true;
        return 0;
    case KEY_RESUME:
        options->resume = true;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_TOKEN:
        options->token_file = arg;
        return 0;
    case KEY_ADDRESS_FILE:
        options->address_file = arg;
        return 0;
    case KEY_IDLE:
        options->idle = number(state, arg, "--idle", 1, IDLE_MAX);
        return 0;
    case KEY_INTO:
        options->into = arg;
        return 0;
    case ARGP_KEY_ARGS:
        input->arguments = state->argv + state->next;
        input->count = state->argc - state->next;
        return 0;
    case ARGP_KEY_END:
        if (input->count < input->command->least)
            argp_error(state, "too few arguments");
        if (input->command->most >= 0 && input->count > input->command->most)
            argp_error(state, "too many arguments");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The option of all clients. */
#define TOKEN_OPTION                                                           \
    {                                                                          \
        .name = "token-file", .key = KEY_TOKEN, .arg = "FILE",                 \
        .doc = TOKEN_CLIENT_DOC                                                \
    }

static const struct argp_option serve_options[] = {
    {.name = "address-file",
        .key = KEY_ADDRESS_FILE,
        .arg = "FILE",
        .doc = "Write the address to FILE and remove FILE at exit"},
    {.name = "idle",
        .key = KEY_IDLE,
        .arg = "SECONDS",
        .doc = "Drop a client after SECONDS without a request (default 600)"},
    {.name = "token-file",
        .key = KEY_TOKEN,
        .arg = "FILE",
        .doc = TOKEN_SERVER_DOC},
    {0}};

/* get has all but the first one. */
static const struct argp_option put_options[] = {
    {.name = "into",
        .key = KEY_INTO,
        .arg = "DIR",
        .doc = "Copy into DIR beneath the exported directory; create it if "
               "needed"},
    {.name = "force",
        .key = 'f',
        .doc = "Replace existing files instead of refusing"},
    {.name = "jobs",
        .key = 'j',
        .arg = "N",
        .doc = "Requests in flight (default 8, at most 64)"},
    {.name = "resume",
        .key = KEY_RESUME,
        .doc = "Continue an interrupted copy: skip files that exist with the "
               "same size and checksum; keep the part of a large file that has "
               "arrived, and continue it"},
    {.name = "json",
        .key = KEY_JSON,
        .doc = "Print the summary as a JSON object: command, files, bytes, "
               "seconds, links, present, resumed, failed, skipped"},
    TOKEN_OPTION, {0}};

static const struct argp_option json_options[] = {
    {.name = "json",
        .key = KEY_JSON,
        .doc = "Print JSON: for each entry name, type (file, directory, link "
               "or special), mode, size, mtime, mtime_nanos, and for stat the "
               "target of a link; in a name that is not UTF-8, ? replaces the "
               "bytes that are not ASCII"},
    TOKEN_OPTION, {0}};

static const struct argp_option rm_options[] = {
    {.name = "recursive",
        .key = 'r',
        .doc = "Remove directories and their contents"},
    {.name = "json",
        .key = KEY_JSON,
        .doc = "Print the summary as a JSON object: command, removed, failed"},
    TOKEN_OPTION, {0}};

#define LINK_RULE                                                              \
    " A link stays within the tree if its target is relative and has .. only " \
    "at its beginning, at most up to the top of the tree: foo/../bar is "      \
    "refused, since foo may be a link itself."

static const struct command commands[] = {
    {"serve", copy_serve, 2, 2,
        {serve_options, parse, "INFO DIR",
            "Exports the directory DIR over the transport INFO, such as na+sm, "
            "until SIGINT or SIGTERM. The first line of standard output is "
            "the address for clients. " LISTEN_DOC
            " Run by root, it requires --token-file for any transport but "
            "na+sm."
            "\v" TOOL_EXIT_CODES,
            NULL, NULL, NULL}},
    {"put", copy_put, 2, -1,
        {put_options, parse, "SOURCE... ADDRESS",
            "Copies files and directory trees to the server at ADDRESS, with "
            "modes, times and symbolic links that stay within the "
            "tree." LINK_RULE "\v" TOOL_EXIT_CODES,
            NULL, NULL, NULL}},
    {"get", copy_get, 3, -1,
        {put_options + 1, parse, "ADDRESS PATH... TARGET",
            "Copies files and directory trees from the server at ADDRESS: "
            "into TARGET if that is a directory, otherwise as TARGET; with "
            "modes, times and symbolic links that stay within the "
            "tree." LINK_RULE "\v" TOOL_EXIT_CODES,
            NULL, NULL, NULL}},
    {"ls", copy_ls, 1, 2,
        {json_options, parse, "ADDRESS [PATH]",
            "Lists a directory at the server at ADDRESS: type, size, time of "
            "the last change (UTC), name."
            "\v" TOOL_EXIT_CODES,
            NULL, NULL, NULL}},
    {"stat", copy_stat, 2, 2,
        {json_options, parse, "PATH ADDRESS",
            "Shows the file, directory or link PATH at the server at ADDRESS."
            "\v" TOOL_EXIT_CODES,
            NULL, NULL, NULL}},
    {"rm", copy_rm, 2, -1,
        {rm_options, parse, "PATH... ADDRESS",
            "Removes files and links at the server at ADDRESS."
            "\v" TOOL_EXIT_CODES,
            NULL, NULL, NULL}},
};

/* Assigns the arguments that are not options. */
static void
assign(struct input *input)
{
    struct copy_options *options = &input->options;
    char **arguments = input->arguments;
    int count = input->count;

    if (input->command->run == copy_serve) {
        options->info = arguments[0];
        options->target = arguments[1];
        return;
    }
    if (input->command->run == copy_put || input->command->run == copy_stat ||
        input->command->run == copy_rm) {
        options->address = arguments[count - 1];
        options->paths = arguments;
        options->path_count = count - 1;
        return;
    }
    options->address = arguments[0];
    options->paths = arguments + 1;
    options->path_count = count - 1;
    if (input->command->run == copy_get) {
        options->target = arguments[count - 1];
        options->path_count--;
    }
}

static int
run(const struct command *command, int argc, char **argv)
{
    struct input input = {.command = command,
        .options = {.jobs = JOBS_DEFAULT, .idle = IDLE_DEFAULT}};
    char name[32] = "talaria copy ";
    int result;

    strncat(name, command->name, sizeof(name) - strlen(name) - 1);
    argv[0] = name;
    argp_err_exit_status = TOOL_USAGE;
    if (argp_parse(&command->argp, argc, argv, 0, NULL, &input) != 0)
        return TOOL_USAGE;
    assign(&input);
    result = command->run(&input.options);
    /* A signal is how a server ends. */
    if (result == TOOL_FAILED && command->run != copy_serve &&
        copy_signal_received())
        result = copy_signal_status();
    return result;
}

static void
print_usage(FILE *stream)
{
    fputs("Usage: talaria copy serve INFO DIR\n"
          "       talaria copy put SOURCE... ADDRESS\n"
          "       talaria copy get ADDRESS PATH... TARGET\n"
          "       talaria copy ls ADDRESS [PATH]\n"
          "       talaria copy stat PATH ADDRESS\n"
          "       talaria copy rm [-r] PATH... ADDRESS\n"
          "Copies files between machines, or processes, over RPCs and bulk "
          "transfers.\n"
          "\"talaria copy COMMAND --help\" tells more.\n" TOOL_EXIT_CODES "\n",
        stream);
}

int
tool_copy(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return TOOL_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0) {
        print_usage(stdout);
        return TOOL_OK;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return run(&commands[i], argc - 1, argv + 1);
    fprintf(stderr, "talaria copy: no command '%s'\n", argv[1]);
    print_usage(stderr);
    return TOOL_USAGE;
}

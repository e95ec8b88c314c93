/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The subcommands of talaria. Each has a file of its own with a run function,
 * which is declared here and named, in the order of --help, in main.c.
 */
#ifndef TOOL_H
#define TOOL_H

/* What run, and with it the program, returns. */
#define TOOL_OK 0
#define TOOL_FAILED 1
#define TOOL_USAGE 2

struct tool {
    const char *name;
    const char *summary; /* one line, for --help */

    /* argv[0] is "talaria NAME". Parses the rest with argp, which ends the
     * program with TOOL_USAGE by itself. */
    int (*run)(int argc, char **argv);
};

/* Stands at the end of each --help. */
#define TOOL_EXIT_CODES                                                        \
    "Exits with 0 when it succeeds, 1 when it fails, 2 when it is not "        \
    "understood."

int tool_check(int argc, char **argv);
int tool_copy(int argc, char **argv);
int tool_info(int argc, char **argv);
int tool_manifest(int argc, char **argv);
int tool_perf(int argc, char **argv);
int tool_ping(int argc, char **argv);

#endif /* TOOL_H */

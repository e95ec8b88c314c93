/* SPDX-License-Identifier: BSD-3-Clause */
/* The subcommands of talaria, listed in main.c. */
#ifndef TOOL_H
#define TOOL_H

/* Exit statuses. */
#define TOOL_OK 0
#define TOOL_FAILED 1
#define TOOL_USAGE 2

struct tool {
    const char *name;
    const char *summary; /* one line, for --help */

    /* argv[0] is "talaria NAME". Returns the exit status, or exits with
     * TOOL_USAGE if the arguments are invalid. */
    int (*run)(int argc, char **argv);
};

/* The end of each --help. */
#define TOOL_EXIT_CODES                                                        \
    "Exit status: 0 if it succeeds, 1 if it fails, 2 if the command line is "  \
    "invalid."

int tool_check(int argc, char **argv);
int tool_copy(int argc, char **argv);
int tool_doctor(int argc, char **argv);
int tool_export(int argc, char **argv);
int tool_info(int argc, char **argv);
int tool_manifest(int argc, char **argv);
int tool_perf(int argc, char **argv);
int tool_ping(int argc, char **argv);
int tool_settings(int argc, char **argv);
int tool_top(int argc, char **argv);

#endif /* TOOL_H */

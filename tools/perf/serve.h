/* SPDX-License-Identifier: BSD-3-Clause */
/* The server of measurements. */
#ifndef PERF_SERVE_H
#define PERF_SERVE_H

#include <stdbool.h>
#include <stdint.h>

struct token;

struct perf_serve_options {
    const char *info;
    bool busy;
    bool single;
    uint32_t once;             /* ends after so many clients; 0: does not */
    int32_t cpu;               /* -1: any */
    int fd;                    /* gets the address, one line */
    uint32_t idle;             /* s until a silent client's session ends */
    const struct token *token; /* that clients have to have, or NULL */
};

/* Serves until SIGINT or SIGTERM. Returns what a subcommand does. */
int perf_serve(const struct perf_serve_options *options);

/* The action `talaria perf serve`; argv[0] is its name. */
int perf_serve_main(int argc, char **argv);

#endif /* PERF_SERVE_H */

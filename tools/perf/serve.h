/* SPDX-License-Identifier: BSD-3-Clause */
/* The server of talaria perf. */
#ifndef PERF_SERVE_H
#define PERF_SERVE_H

#include <stdbool.h>
#include <stdint.h>

struct token;

struct perf_serve_options {
    const char *info;
    bool busy;
    bool single;
    uint32_t once;             /* exit after so many clients; 0: never */
    int32_t cpu;               /* -1: any */
    int fd;                    /* the address is written there, as a line */
    uint32_t idle;             /* s until an idle client's session is closed */
    const struct token *token; /* shared with clients, or NULL */
};

/* Serves until SIGINT or SIGTERM. Returns the exit status. */
int perf_serve(const struct perf_serve_options *options);

/* The action `talaria perf serve`; argv[0] is its name. */
int perf_serve_main(int argc, char **argv);

#endif /* PERF_SERVE_H */

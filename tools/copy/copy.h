/* SPDX-License-Identifier: BSD-3-Clause */
/* `talaria copy`: a file service over RPCs and bulk transfers. Options and
 * entry points of its subcommands. */
#ifndef COPY_H
#define COPY_H

#include <stdbool.h>

#include "common/tool.h"

struct copy_options {
    const char *info;    /* serve */
    const char *address; /* others: of the server */
    char **paths; /* put: sources; get, ls, stat, rm: paths at the server */
    int path_count;
    const char *target;       /* serve: exported directory; get: TARGET */
    const char *into;         /* put: directory at the server, NULL: the top */
    const char *address_file; /* serve; NULL: none */
    const char *token_file;   /* NULL: none */
    unsigned int jobs;        /* put, get: requests in flight */
    unsigned int idle;        /* serve: s until an idle client is dropped */
    bool force;               /* put, get: replace files */
    bool resume;              /* put, get: skip files that are equal */
    bool json;                /* all but serve */
    bool recursive;           /* rm */
};

/* The subcommands. Each returns the exit status of the program. */
int copy_serve(const struct copy_options *options);
int copy_put(const struct copy_options *options);
int copy_get(const struct copy_options *options);
int copy_ls(const struct copy_options *options);
int copy_stat(const struct copy_options *options);
int copy_rm(const struct copy_options *options);

#endif /* COPY_H */

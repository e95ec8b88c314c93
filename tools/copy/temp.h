/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that is being written and has no name yet. Where the file system can,
 * it has none at all and vanishes with the process, whatever ends that;
 * otherwise it has a hidden one (".talaria-...").
 *
 * Functions that return an int return 0 or an errno value. */
#ifndef COPY_TEMP_H
#define COPY_TEMP_H

#include <stdbool.h>
#include <sys/types.h>

#include "copy/proto.h"

#define COPY_TEMP_NAME_SIZE 40

struct copy_temp {
    int dir;                        /* the directory it is in */
    int fd;                         /* for writing */
    char name[COPY_TEMP_NAME_SIZE]; /* its hidden name, "" if it has none */
};

/* Creates an empty file in the directory `dir`, a descriptor which belongs to
 * the file from now on; after an error it is the caller's. */
int copy_temp_create(int dir, struct copy_temp *temp_p);

/* What a file is published with. */
struct copy_final {
    uint64_t size; /* it may end in a hole */
    mode_t mode;
    copy_time_t mtime;
    bool replace; /* it may take the place of another file */
};

/* Gives the file its size, permission bits, time and final name, and closes it.
 * EEXIST, EISDIR, EINVAL: no such time. After an error the file is still to be
 * dropped. */
int copy_temp_publish(
    struct copy_temp *temp, const char *name, const struct copy_final *final);

/* Closes the file, which vanishes. */
void copy_temp_drop(struct copy_temp *temp);

/* Makes up a hidden name, for what is to be renamed. EIO. */
int copy_temp_name(char name_p[COPY_TEMP_NAME_SIZE]);

#endif /* COPY_TEMP_H */

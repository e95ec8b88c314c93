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

struct copy_temp {
    int dir;       /* the directory it is in */
    int fd;        /* for writing */
    char name[40]; /* its hidden name, "" if it has none */
};

/* Creates an empty file in the directory `dir`, a descriptor which belongs to
 * the file from now on; after an error it is the caller's. */
int copy_temp_create(int dir, struct copy_temp *temp_p);

/* Gives the file its permission bits and its final name, and closes it.
 * replace: whether it may take the place of another file. EEXIST, EISDIR. After
 * an error the file is still to be dropped. */
int copy_temp_publish(
    struct copy_temp *temp, const char *name, mode_t mode, bool replace);

/* Closes the file, which vanishes. */
void copy_temp_drop(struct copy_temp *temp);

#endif /* COPY_TEMP_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that is being written. It has no name where the file system supports
 * that (O_TMPFILE), and is removed when the process ends in any way; elsewhere
 * it has a hidden name (".talaria-...").
 *
 * Functions that return an int return 0 or an errno value. */
#ifndef COPY_TEMP_H
#define COPY_TEMP_H

#include <stdbool.h>
#include <sys/types.h>

#include "copy/proto.h"

#define COPY_TEMP_NAME_SIZE 40

struct copy_temp {
    int dir;                        /* its directory */
    bool shares_dir;                /* dir is the caller's: it is not closed */
    int fd;                         /* for writing */
    char name[COPY_TEMP_NAME_SIZE]; /* the hidden name, or "" */
    bool keep;                      /* a partial file, see partial.h */
};

/* Creates an empty file in the directory `dir` and takes over that descriptor,
 * unless it fails or the caller sets shares_dir afterwards. */
int copy_temp_create(int dir, struct copy_temp *temp_p);

/* The attributes of the published file. */
struct copy_final {
    uint64_t size;     /* the file may end in a hole, unless: */
    bool last_written; /* its last byte was written, and none after it */
    mode_t mode;
    copy_time_t mtime;
    bool replace; /* replace an existing file */
};

/* Sets size, permission bits, time and final name, and closes the file. EEXIST,
 * EISDIR, EINVAL: invalid time. After an error the file must be dropped. */
int copy_temp_publish(
    struct copy_temp *temp, const char *name, const struct copy_final *final);

/* Closes and removes the file. */
void copy_temp_drop(struct copy_temp *temp);

/* Closes the file of an interrupted copy. A partial file that is not empty
 * stays, any other is removed. */
void copy_temp_leave(struct copy_temp *temp);

/* Makes a random hidden name. EIO: no random numbers. */
int copy_temp_name(char name_p[COPY_TEMP_NAME_SIZE]);

#endif /* COPY_TEMP_H */

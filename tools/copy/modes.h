/* SPDX-License-Identifier: BSD-3-Clause */
/* Permission bits and times of directories, set after their contents have been
 * copied. */
#ifndef COPY_MODES_H
#define COPY_MODES_H

#include <sys/types.h>

#include "copy/proto.h"
#include "copy/report.h"

struct copy_modes {
    struct copy_mode *last;
};

/* Returns the bits that a directory is created with, so that it can be
 * filled. */
mode_t copy_modes_initial(mode_t mode);

/* Adds a directory with its final permission bits and time. */
void copy_modes_add(struct copy_modes *modes, struct copy_report *report,
    const char *path, mode_t mode, const copy_time_t *mtime);

/* Removes the directory added last and returns its path, to be freed; NULL:
 * none is left. */
char *copy_modes_pop(
    struct copy_modes *modes, mode_t *mode_p, copy_time_t *mtime_p);

#endif /* COPY_MODES_H */

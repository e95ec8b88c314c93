/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories get their permission bits and times only when everything is in
 * them; until then they are kept here. */
#ifndef COPY_MODES_H
#define COPY_MODES_H

#include <sys/types.h>

#include "copy/proto.h"
#include "copy/report.h"

struct copy_modes {
    struct copy_mode *last;
};

/* Returns the bits that a directory is made with, so that it can be filled. */
mode_t copy_modes_first(mode_t mode);

/* Remembers what a directory is to have in the end. */
void copy_modes_add(struct copy_modes *modes, struct copy_report *report,
    const char *path, mode_t mode, const copy_time_t *mtime);

/* Takes the directory that was added last, whose path is to be freed. Returns
 * NULL when there are no more. */
char *copy_modes_take(
    struct copy_modes *modes, mode_t *mode_p, copy_time_t *mtime_p);

#endif /* COPY_MODES_H */

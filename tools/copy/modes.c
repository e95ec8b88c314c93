/* SPDX-License-Identifier: BSD-3-Clause */
/* A stack of directories, so that inner ones are set before outer ones. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "copy/modes.h"
#include "copy/status.h"

#define WORK_MODE 0700

struct copy_mode {
    struct copy_mode *before;
    mode_t mode;
    copy_time_t mtime;
    char *path;
};

mode_t
copy_modes_initial(mode_t mode)
{
    return mode | WORK_MODE;
}

void
copy_modes_add(struct copy_modes *modes, struct copy_report *report,
    const char *path, mode_t mode, const copy_time_t *mtime)
{
    struct copy_mode *added;

    if ((mode & WORK_MODE) == WORK_MODE && mtime->nanos == COPY_TIME_NONE)
        return;
    added = malloc(sizeof(*added));
    if (added != NULL)
        added->path = strdup(path);
    if (added == NULL || added->path == NULL) {
        free(added);
        copy_report_failed(report, path, copy_status_error_text(ENOMEM));
        return;
    }
    added->mode = mode;
    added->mtime = *mtime;
    added->before = modes->last;
    modes->last = added;
}

char *
copy_modes_pop(struct copy_modes *modes, mode_t *mode_p, copy_time_t *mtime_p)
{
    struct copy_mode *last = modes->last;
    char *path;

    if (last == NULL)
        return NULL;
    path = last->path;
    *mode_p = last->mode;
    *mtime_p = last->mtime;
    modes->last = last->before;
    free(last);
    return path;
}

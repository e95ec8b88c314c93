/* SPDX-License-Identifier: BSD-3-Clause */
/* The line on a terminal that shows how far a copy is. */
#ifndef COPY_BAR_H
#define COPY_BAR_H

#include <stdbool.h>
#include <stdint.h>

struct copy_bar {
    bool shown;     /* standard error is a terminal */
    bool drawn;     /* the cursor is in the line of the bar */
    double started; /* s */
    double drawn_at;
};

/* Where the copy is. */
struct copy_progress {
    uint64_t files;       /* whole */
    uint64_t moved;       /* bytes */
    uint64_t found;       /* bytes of the files found so far */
    bool found_all;       /* there are no others */
    uint64_t found_files; /* as found */
};

void copy_bar_start(struct copy_bar *bar);

/* Draws the bar if it is shown, and the last time is long enough ago. */
void copy_bar_draw(struct copy_bar *bar, const struct copy_progress *progress);

/* Takes the bar away, so that a line can be printed. */
void copy_bar_clear(struct copy_bar *bar);

#endif /* COPY_BAR_H */

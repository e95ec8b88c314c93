/* SPDX-License-Identifier: BSD-3-Clause */
/* The progress bar on a terminal. */
#ifndef COPY_BAR_H
#define COPY_BAR_H

#include <stdbool.h>
#include <stdint.h>

struct copy_bar {
    bool shown;     /* standard error is a terminal */
    double started; /* s */
    double drawn_at;
};

struct copy_progress {
    uint64_t files;       /* complete */
    uint64_t moved;       /* bytes transferred */
    uint64_t found;       /* bytes of the files found so far */
    bool found_all;       /* the walk has ended */
    uint64_t found_files; /* found so far */
};

void copy_bar_start(struct copy_bar *bar);

/* Draws the bar if it is shown and due. */
void copy_bar_draw(struct copy_bar *bar, const struct copy_progress *progress);

/* Removes the bar that this process has drawn, if any, before a line is printed.
 */
void copy_bar_clear(void);

#endif /* COPY_BAR_H */

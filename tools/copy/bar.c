/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws the progress bar. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "copy/bar.h"
#include "copy/text.h"

#define WIDTH 30 /* characters between the brackets */
#define REDRAW_SECONDS 0.1
#define FIRST_SECONDS 0.3 /* before the bar appears */

void
copy_bar_start(struct copy_bar *bar)
{
    *bar = (struct copy_bar){
        .shown = isatty(STDERR_FILENO) == 1, .started = clock_seconds()};
    bar->drawn_at = bar->started + FIRST_SECONDS - REDRAW_SECONDS;
}

void
copy_bar_draw(struct copy_bar *bar, const struct copy_progress *progress)
{
    static const char full[] = "##############################";
    double now;
    double done = 0;
    char moved[16];
    char found[16];
    char rate[16];

    if (!bar->shown)
        return;
    now = clock_seconds();
    if (now - bar->drawn_at < REDRAW_SECONDS)
        return;
    if (progress->found > 0)
        done = (double) progress->moved / (double) progress->found;
    if (done > 1)
        done = 1;
    copy_text_bytes(moved, sizeof(moved), progress->moved);
    copy_text_bytes(found, sizeof(found), progress->found);
    copy_text_bytes(rate, sizeof(rate),
        (uint64_t) ((double) progress->moved / (now - bar->started)));
    /* "+": the walk has not ended and may find more. */
    fprintf(stderr,
        "\r\033[K[%-*.*s] %3.0f%%  %s of %s%s  %" PRIu64 "/%" PRIu64
        "%s files  %s/s",
        WIDTH, (int) (done * WIDTH), full, done * 100, moved, found,
        progress->found_all ? "" : "+", progress->files, progress->found_files,
        progress->found_all ? "" : "+", rate);
    fflush(stderr);
    bar->drawn = true;
    bar->drawn_at = now;
}

void
copy_bar_clear(struct copy_bar *bar)
{
    if (!bar->drawn)
        return;
    fputs("\r\033[K", stderr);
    bar->drawn = false;
}

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

/* The cursor of standard error is on the line of a bar. */
static bool drawn;

/* Writes "  1:02:03 left", or nothing while it is not known. */
static void
write_left(const struct copy_progress *progress, double seconds)
{
    uint64_t left;

    if (!progress->found_all || progress->moved == 0 ||
        progress->moved >= progress->found)
        return;
    left = (uint64_t) (seconds * (double) (progress->found - progress->moved) /
                       (double) progress->moved);
    if (left >= 360000) /* 100 hours: a meaningless rate */
        return;
    if (left >= 3600)
        fprintf(stderr, "  %" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " left",
            left / 3600, left / 60 % 60, left % 60);
    else
        fprintf(
            stderr, "  %" PRIu64 ":%02" PRIu64 " left", left / 60, left % 60);
}

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
    write_left(progress, now - bar->started);
    fflush(stderr);
    drawn = true;
    bar->drawn_at = now;
}

void
copy_bar_clear(void)
{
    if (!drawn)
        return;
    fputs("\r\033[K", stderr);
    drawn = false;
}

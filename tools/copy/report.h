/* SPDX-License-Identifier: BSD-3-Clause */
/* What a user is told: a line for each thing that went wrong, the bar in
 * between, and the summary in the end. */
#ifndef COPY_REPORT_H
#define COPY_REPORT_H

#include "copy/bar.h"

struct copy_report {
    const char *verb; /* "put", "get" */
    struct copy_bar bar;
    struct copy_progress progress;
    uint64_t bytes;   /* of the files that are whole */
    uint64_t failed;  /* files and directories that aren't there */
    uint64_t skipped; /* special files */
    uint64_t links;   /* made */
    uint64_t present; /* files and links that were there already */
    bool json;        /* the summary */
};

/* Starts the clock. verb: "put" or "get". */
void copy_report_start(struct copy_report *report, const char *verb);

/* A line on standard error about `path`: it failed, because of `reason`. */
void copy_report_failed(
    struct copy_report *report, const char *path, const char *reason);

/* The same for what is left out on purpose. */
void copy_report_skipped(
    struct copy_report *report, const char *path, const char *reason);

/* A file of `size` bytes was found, and will be copied. */
void copy_report_found(struct copy_report *report, uint64_t size);

/* A file of `size` bytes is whole. */
void copy_report_done(struct copy_report *report, uint64_t size);

/* A link was made. */
void copy_report_linked(struct copy_report *report);

/* A file of `size` bytes, or a link, was there already, as it should be. */
void copy_report_present(struct copy_report *report, uint64_t size);

/* Prints the summary on standard output. Returns the exit status. */
int copy_report_end(struct copy_report *report);

/* A line on standard error about `subject`, a name from anywhere; without a
 * report. */
void copy_report_error(const char *subject, const char *reason);

#endif /* COPY_REPORT_H */

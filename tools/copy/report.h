/* SPDX-License-Identifier: BSD-3-Clause */
/* The output for users: a line for each error, the progress bar, the
 * summary. */
#ifndef COPY_REPORT_H
#define COPY_REPORT_H

#include "copy/bar.h"

struct copy_report {
    const char *verb; /* "put", "get" */
    struct copy_bar bar;
    struct copy_progress progress;
    uint64_t bytes;   /* of complete files */
    uint64_t failed;  /* files, links and directories */
    uint64_t skipped; /* special files */
    uint64_t links;   /* created */
    uint64_t present; /* files and links that existed with equal contents */
    uint64_t resumed; /* bytes of partial files that were verified */
    bool json;        /* print the summary as JSON */
};

/* Resets the report and starts its clock. verb: "put" or "get". */
void copy_report_start(struct copy_report *report, const char *verb);

/* Counts a failure and prints it on standard error. */
void copy_report_failed(
    struct copy_report *report, const char *path, const char *reason);

/* The same for a file that is skipped on purpose. */
void copy_report_skipped(
    struct copy_report *report, const char *path, const char *reason);

/* Counts a file of `size` bytes that will be copied. */
void copy_report_found(struct copy_report *report, uint64_t size);

/* Counts a complete file of `size` bytes. */
void copy_report_done(struct copy_report *report, uint64_t size);

/* Counts a link that was created. */
void copy_report_linked(struct copy_report *report);

/* Counts an equal file of `size` bytes, or a link (0), that existed already. */
void copy_report_present(struct copy_report *report, uint64_t size);

/* Prints the summary on standard output. Returns the exit status. */
int copy_report_end(struct copy_report *report);

/* Prints an error on standard error without counting it. subject: any bytes. */
void copy_report_error(const char *subject, const char *reason);

/* Prints in one line that the server at `address` is lost, and, if shown is not
 * NULL, that a file was not copied. more: " and N more", or "". resumable: the
 * file can be continued. */
void copy_report_lost(const char *address, const char *reason,
    const char *shown, const char *more, bool resumable);

#endif /* COPY_REPORT_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* What a user is told: errors as they happen, the summary in the end. */
#include <inttypes.h>
#include <stdio.h>

#include "copy.h"
#include "copy_clock.h"
#include "copy_report.h"
#include "copy_text.h"

void
copy_report_start(struct copy_report *report, const char *verb)
{
    *report = (struct copy_report){.verb = verb};
    copy_bar_start(&report->bar);
}

void
copy_report_error(const char *subject, const char *reason)
{
    fputs("talaria copy: ", stderr);
    copy_text_name(stderr, subject[0] == 0 ? "." : subject);
    fprintf(stderr, ": %s\n", reason);
}

void
copy_report_failed(
    struct copy_report *report, const char *path, const char *reason)
{
    copy_bar_clear(&report->bar);
    copy_report_error(path, reason);
    report->failed++;
}

void
copy_report_skipped(
    struct copy_report *report, const char *path, const char *reason)
{
    copy_bar_clear(&report->bar);
    fputs("talaria copy: skipped ", stderr);
    copy_text_name(stderr, path[0] == 0 ? "." : path);
    fprintf(stderr, ": %s\n", reason);
    report->skipped++;
}

void
copy_report_found(struct copy_report *report, uint64_t size)
{
    report->progress.found += size;
    report->progress.found_files++;
}

void
copy_report_done(struct copy_report *report, uint64_t size)
{
    report->progress.files++;
    report->bytes += size;
}

int
copy_report_end(struct copy_report *report)
{
    double seconds = copy_clock() - report->bar.started;
    double rate = (double) report->bytes / (1024 * 1024) / seconds;

    copy_bar_clear(&report->bar);
    printf("%s: %" PRIu64 " files, %" PRIu64
           " bytes in %.3f s, %.1f MiB/s; %" PRIu64 " failed, %" PRIu64
           " skipped\n",
        report->verb, report->progress.files, report->bytes, seconds, rate,
        report->failed, report->skipped);
    fflush(stdout);
    return report->failed > 0 ? TOOL_FAILED : TOOL_OK;
}

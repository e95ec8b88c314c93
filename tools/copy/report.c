/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints errors as they happen, and the summary at the end. */
#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/output.h"
#include "copy/copy.h"
#include "copy/report.h"
#include "copy/text.h"

void
copy_report_start(struct copy_report *report, const char *verb)
{
    *report = (struct copy_report){.verb = verb};
    copy_bar_start(&report->bar);
}

void
copy_report_error(const char *subject, const char *reason)
{
    copy_bar_clear();
    fputs("talaria copy: ", stderr);
    copy_text_name(stderr, subject[0] == 0 ? "." : subject);
    fprintf(stderr, ": %s\n", reason);
}

void
copy_report_lost(const char *address, const char *reason, const char *shown,
    const char *more, bool resumable)
{
    copy_bar_clear();
    fputs("talaria copy: ", stderr);
    copy_text_name(stderr, address);
    fprintf(stderr, ": %s", reason);
    if (shown != NULL) {
        fputs("; ", stderr);
        copy_text_name(stderr, shown);
        fprintf(stderr, "%s: not copied", more);
        if (resumable)
            fputs(", --resume continues", stderr);
    }
    fputc('\n', stderr);
}

void
copy_report_failed(
    struct copy_report *report, const char *path, const char *reason)
{
    copy_report_error(path, reason);
    report->failed++;
}

void
copy_report_skipped(
    struct copy_report *report, const char *path, const char *reason)
{
    copy_bar_clear();
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

void
copy_report_linked(struct copy_report *report)
{
    report->links++;
}

void
copy_report_present(struct copy_report *report, uint64_t size)
{
    report->present++;
    report->progress.moved += size;
}

static int
print_json(const struct copy_report *report, double seconds)
{
    return output_json(json_pack("{s:s s:I s:I s:f s:I s:I s:I s:I s:I}",
        "command", report->verb, "files", (json_int_t) report->progress.files,
        "bytes", (json_int_t) report->bytes, "seconds", seconds, "links",
        (json_int_t) report->links, "present", (json_int_t) report->present,
        "resumed", (json_int_t) report->resumed, "failed",
        (json_int_t) report->failed, "skipped", (json_int_t) report->skipped));
}

static void
print_text(const struct copy_report *report, double seconds)
{
    printf("%s: %" PRIu64 " files, %" PRIu64
           " bytes in %.3f s, %.1f MiB/s; %" PRIu64 " failed, %" PRIu64
           " skipped",
        report->verb, report->progress.files, report->bytes, seconds,
        (double) report->bytes / (1024 * 1024) / seconds, report->failed,
        report->skipped);
    if (report->links > 0)
        printf(", %" PRIu64 " links", report->links);
    if (report->present > 0)
        printf(", %" PRIu64 " there already", report->present);
    if (report->resumed > 0)
        printf(", %" PRIu64 " bytes resumed", report->resumed);
    putchar('\n');
    fflush(stdout);
}

int
copy_report_end(struct copy_report *report)
{
    double seconds = clock_seconds() - report->bar.started;

    copy_bar_clear();
    if (!report->json)
        print_text(report, seconds);
    else if (print_json(report, seconds) != TOOL_OK)
        return TOOL_FAILED;
    return report->failed > 0 ? TOOL_FAILED : TOOL_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What was looked at to open an info string, and why it was taken or refused:
 * a list of candidates whose last entry decides. A program reads it through
 * talaria_open_report.
 */
#ifndef PLUGIN_REPORT_H
#define PLUGIN_REPORT_H

#include "talaria.h"

struct plugin_info;
struct plugin_report;

/* Every function takes NULL for a report and then does nothing, so that a
 * process short of memory loses the report only. One thread at a time. */
struct plugin_report *plugin_report_create(void);
void plugin_report_destroy(struct plugin_report *report);

/* What is to be opened, for the log line and the program. Copied.
 * plugin_resolve does it. */
void plugin_report_set_info(
    struct plugin_report *report, const struct plugin_info *info);
void plugin_report_set_string(struct plugin_report *report, const char *string);

/* Adds a candidate, or what became of the last one if that is of the same name
 * and was OK. path: the manifest, or the
 * shared object when there is none, or NULL; plugin: its name, or NULL; with
 * neither the entry is a verdict on all of them. code, and the text, without a
 * newline, are its result: NA_SUCCESS for one that was taken. All copied. */
void plugin_report_add(struct plugin_report *report, enum talaria_stage stage,
    const char *path, const char *plugin, na_return_t code, const char *format,
    ...) __attribute__((format(printf, 6, 7)));

/* Logs the one line of a failure: the info string, the last entry, how many
 * candidates there were. plugin_resolve has done it when it fails; who adds an
 * entry for a plugin that failed to open does it then. */
void plugin_report_log(const struct plugin_report *report);

/* Logs nothing of it any more. The text of its last entry, "" if there is
 * none. */
void plugin_report_silence(struct plugin_report *report);
const char *plugin_report_text(const struct plugin_report *report);

/* Makes it what talaria_open_report returns in this thread, in place of the one
 * before. Takes the report over. */
void plugin_report_publish(struct plugin_report *report);

/* Frees what is published, of every thread. [any thread] */
void plugin_report_cleanup(void);

#endif /* PLUGIN_REPORT_H */

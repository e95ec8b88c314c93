/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The candidates examined to open an info string, and why each was accepted or
 * refused; the last one decided. Programs read it with talaria_open_report.
 */
#ifndef PLUGIN_REPORT_H
#define PLUGIN_REPORT_H

#include "talaria.h"

struct plugin_info;
struct plugin_report;

/* Every function ignores a NULL report, so that a process short of memory only
 * loses the report. One thread at a time may use a report. */
struct plugin_report *plugin_report_create(void);
void plugin_report_destroy(struct plugin_report *report);

/* Sets what is opened, for the log line and the program. Copied. plugin_resolve
 * calls it. */
void plugin_report_set_info(
    struct plugin_report *report, const struct plugin_info *info);
void plugin_report_set_string(struct plugin_report *report, const char *string);

/* Adds a candidate, or replaces the last one if it has the same name and was
 * OK. path: the manifest, or the shared object if there is none, or NULL.
 * plugin: its name, or NULL. An entry with neither is about all candidates.
 * code and text, without a newline, are the result: NA_SUCCESS for an accepted
 * one. All copied. */
void plugin_report_add(struct plugin_report *report, enum talaria_stage stage,
    const char *path, const char *plugin, na_return_t code, const char *format,
    ...) __attribute__((format(printf, 6, 7)));

/* Logs the line of a failure: the info string, the last entry, the number of
 * candidates. plugin_resolve logs its own failures; a caller that adds an entry
 * for a plugin that failed to open logs that one. */
void plugin_report_log(const struct plugin_report *report);

/* Disables logging of this report. */
void plugin_report_silence(struct plugin_report *report);
/* Returns the text of the last entry, "" if there is none. */
const char *plugin_report_text(const struct plugin_report *report);

/* Makes it the result of talaria_open_report in this thread, in place of the
 * last one. Takes over the report. */
void plugin_report_publish(struct plugin_report *report);

/* Frees the published reports of all threads. [any thread] */
void plugin_report_cleanup(void);

#endif /* PLUGIN_REPORT_H */

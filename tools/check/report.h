/* SPDX-License-Identifier: BSD-3-Clause */
/* The kit's results as text, JSON and JUnit XML. */
#ifndef KIT_REPORT_H
#define KIT_REPORT_H

#include "check/run.h"

#include <stdio.h>

struct kit_report {
    struct kit_outcome *outcomes;
    size_t count;
    const char *path;
    const char *name; /* of the plugin, "?" if unknown */
    const char *version;
    const char *protocol;
};

struct kit_tally {
    size_t verdicts[KIT_NOT_RUN + 1];
};

/* Returns the verdict of a rule: failed if a case found it broken, passed if a
 * case about it passed, else not offered or not run. */
enum kit_verdict kit_report_rule(
    const struct kit_report *report, uint32_t rule, struct kit_tally *tally_p);

/* Prints a failed case with its details. */
void kit_print_failure(FILE *stream, const struct kit_outcome *outcome);
/* Prints a line for each rule and one for all. */
void kit_print_summary(FILE *stream, const struct kit_report *report);

/* Return the exit status. */
int kit_print_json(const struct kit_report *report);
int kit_write_junit(const struct kit_report *report, const char *path);

#endif /* KIT_REPORT_H */

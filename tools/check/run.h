/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs cases, each in a process of its own, and collects their results. */
#ifndef KIT_RUN_H
#define KIT_RUN_H

#include "check/shared.h"

#define KIT_OUTPUT_MAX 2048U
#define KIT_RULES 16U /* 1 to 15 */

struct kit_outcome {
    const struct kit_case *it;
    enum kit_verdict verdict;
    uint32_t rule; /* the broken one */
    char expected[KIT_TEXT_MAX];
    char found[KIT_TEXT_MAX]; /* or the reason */
    const char *step;         /* NULL: none */
    const char *call;         /* function of the plugin, NULL: none */
    double seconds;
    uint32_t lines;
    char log[KIT_LINES][KIT_LINE_MAX];
    char output[KIT_OUTPUT_MAX]; /* the end of what the processes printed */
};

/* All cases, in order. */
extern const struct kit_group *const kit_groups[];
extern const size_t kit_groups_count;

/* The first case, which determines the offered features. */
extern const struct kit_case kit_case_first;

/* Returns the title of a rule, or NULL. */
const char *kit_rule_title(uint32_t rule);
const char *kit_verdict_text(enum kit_verdict verdict);

/* Runs a case. facts: the features offered; the first case sets them. Blocks
 * until all its processes have ended. */
void kit_run_case(const struct kit_case *it, struct kit_facts *facts,
    struct kit_outcome *outcome_p);

#endif /* KIT_RUN_H */

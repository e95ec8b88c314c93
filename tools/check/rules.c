/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of the ABI, by number, and the list of all cases. */
#include "check/cases.h"
#include "check/run.h"

static const char *const titles[KIT_RULES] = {
    [1] = "one header",
    [2] = "one symbol, services by host tables",
    [3] = "versions",
    [4] = "growth: sizes, bits that must be zero",
    [5] = "options are extensions",
    [6] = "storage of operations is the core's",
    [7] = "submitting, and one final event",
    [8] = "events are pulled",
    [9] = "races: after the hand-over, after the end",
    [10] = "cancelling and destroying",
    [11] = "what an end means",
    [12] = "contracts of each function",
    [13] = "loading",
    [14] = "failing is precise",
    [15] = "trust",
};

const struct kit_group *const kit_groups[] = {
    &kit_cases_static,
    &kit_cases_lifecycle,
    &kit_cases_address,
    &kit_cases_contract,
    &kit_cases_message,
    &kit_cases_match,
    &kit_cases_cancel,
    &kit_cases_context,
    &kit_cases_contexts,
    &kit_cases_contexts_work,
    &kit_cases_contexts_odd,
    &kit_cases_rma,
    &kit_cases_rma_end,
    &kit_cases_memory,
    &kit_cases_forged,
    &kit_cases_flags,
    &kit_cases_many,
    &kit_cases_multi,
    &kit_cases_wait,
    &kit_cases_wake,
    &kit_cases_busy,
    &kit_cases_thread,
    &kit_cases_contexts_thread,
    &kit_cases_death,
    &kit_cases_stop,
    &kit_cases_contexts_end,
    &kit_cases_no_peer,
};
const size_t kit_groups_count = sizeof kit_groups / sizeof kit_groups[0];

const char *
kit_rule_title(uint32_t rule)
{
    return rule < KIT_RULES ? titles[rule] : NULL;
}

const char *
kit_verdict_text(enum kit_verdict verdict)
{
    static const char *const texts[] = {
        "passed", "failed", "not offered", "not run"};

    return texts[verdict];
}

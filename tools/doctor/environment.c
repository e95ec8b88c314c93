/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings of the environment that are invalid, ignored or misspelled. */
#include "doctor/doctor.h"

#include "settings/settings.h"

#include <stdio.h>

static void
check_values(struct doctor *doctor, const struct settings_list *list)
{
    size_t count = 0, invalid = 0;
    char advice[SETTINGS_VARIABLE_SIZE + 64];

    for (size_t i = 0; i < list->count; i++) {
        const struct settings_row *row = &list->rows[i];

        count += row->from_environment;
        invalid += !row->valid;
        if (row->valid)
            continue;
        snprintf(advice, sizeof advice, "type: unset %s, or correct it",
            row->variable);
        doctor_report(doctor, DOCTOR_FAILED, "environment", advice,
            "%s is \"%.64s\", wanted %s", row->variable, row->value,
            row->range);
    }
    if (invalid == 0)
        doctor_report(doctor, DOCTOR_OK, "environment", NULL,
            "%zu of %zu settings are set", count, list->count);
}

static void
check_unknown(struct doctor *doctor, const struct settings_list *list)
{
    char name[SETTINGS_VARIABLE_SIZE], advice[SETTINGS_VARIABLE_SIZE + 32];
    const char *nearest;

    for (size_t at = 0; settings_next_unknown(list, &at, name, &nearest);) {
        if (nearest)
            snprintf(advice, sizeof advice, "did you mean %s?", nearest);
        doctor_report(doctor, DOCTOR_WARNING, "environment",
            nearest ? advice : "\"talaria settings\" lists all",
            "%s is no setting", name);
    }
}

/* The environment is ignored then. */
static void
check_privileged(struct doctor *doctor, const struct settings_list *list)
{
    if (list->privileged)
        doctor_report(doctor, DOCTOR_WARNING, "environment",
            "give settings by the program, plugins by plugins.d",
            "this process is privileged (set-user-ID or capabilities): "
            "variables TALARIA_... are ignored");
}

void
doctor_check_environment(
    struct doctor *doctor, const struct settings_list *settings)
{
    check_privileged(doctor, settings);
    check_values(doctor, settings);
    check_unknown(doctor, settings);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of a class: limits, features, settings, the plugin's entries. */
#include "talaria.h"

#include "na.h"
#include "na/class.h"
#include "na/violation.h"

#include "plugin/resolve.h"

#include <stdlib.h>

#define CORE_ENTRIES 16U
#define PLUGIN_ENTRIES_MAX 256U

static const char *
yes_no(bool yes)
{
    return yes ? "yes" : "no";
}

static size_t
fill_core(const struct na_class *na_class, struct talaria_report_entry *entry)
{
    const na_plugin_opened *opened = &na_class->opened;
    const struct talaria_report_entry entries[] = {
        {"plugin", na_class->plugin->name, 0},
        {"version", na_class->plugin->version, 0},
        {"path", plugin_path(na_class->plugin), 0},
        {"protocol", na_class->protocol, 0},
        {"max_unexpected_size", NULL, opened->max_unexpected_size},
        {"max_expected_size", NULL, opened->max_expected_size},
        {"max_tag", NULL, NA_Msg_get_max_tag(na_class)},
        {"max_segments", NULL, opened->max_segments},
        {"max_contexts", NULL, opened->max_contexts},
        {"operation_size", NULL, opened->op_size},
        {"multi_recv", yes_no(na_class->multi_recv), 0},
        {"wait", yes_no(na_class->wait), 0},
        {"mem_alloc", yes_no(na_class->mem_alloc), 0},
        {"node_local", yes_no(opened->features & NA_PLUGIN_FEATURE_NODE_LOCAL),
            0},
        {"rma_native", yes_no(opened->features & NA_PLUGIN_FEATURE_RMA_NATIVE),
            0},
        {"mem_device", yes_no(opened->features & NA_PLUGIN_FEATURE_MEM_DEVICE),
            0},
    };
    size_t count = 0;

    _Static_assert(
        sizeof entries / sizeof entries[0] == CORE_ENTRIES, "room for each");
    for (size_t i = 0; i < CORE_ENTRIES; i++) {
        /* A registered plugin has no path. */
        if (i == 2 && !entries[i].text)
            continue;
        entry[count++] = entries[i];
    }
    for (size_t i = 0; i < na_class->settings.count; i++)
        entry[count++] = (struct talaria_report_entry){
            na_class->settings.values[i].setting->key,
            na_class->settings.values[i].text, 0};
    return count;
}

/* The returned report, in one allocation. */
struct report {
    struct talaria_report public;
    struct talaria_report_entry
        *pointers[CORE_ENTRIES + NA_PLUGIN_SETTINGS_MAX + PLUGIN_ENTRIES_MAX];
    struct talaria_report_entry entries[];
};

na_return_t
talaria_class_report(na_class_t *na_class, struct talaria_report **report_p)
{
    struct report *report;
    na_plugin_report_entry said[PLUGIN_ENTRIES_MAX];
    uint32_t said_count = 0;
    size_t count;

    if (!na_class || !report_p)
        return NA_INVALID_ARG;
    if (na_class->report)
        said_count = na_class->report->entries(
            na_class->plugin_class, 0, said, PLUGIN_ENTRIES_MAX);
    if (said_count > PLUGIN_ENTRIES_MAX) {
        na_violation(na_class,
            "entries of " NA_PLUGIN_REPORT_ID
            " returned %u, at most %u were asked for",
            said_count, PLUGIN_ENTRIES_MAX);
        return NA_PROTOCOL_ERROR;
    }
    report =
        calloc(1, sizeof *report +
                      (CORE_ENTRIES + na_class->settings.count + said_count) *
                          sizeof report->entries[0]);
    if (!report)
        return NA_NOMEM;
    count = fill_core(na_class, report->entries);
    for (uint32_t i = 0; i < said_count; i++)
        if (said[i].name)
            report->entries[count++] = (struct talaria_report_entry){
                said[i].name, said[i].text, said[i].value};
        else
            na_violation(
                na_class, "entry %u of " NA_PLUGIN_REPORT_ID " has no name", i);
    for (size_t i = 0; i < count; i++)
        report->pointers[i] = &report->entries[i];
    report->public.count = count;
    report->public.entries = report->pointers;
    *report_p = &report->public;
    return NA_SUCCESS;
}

void
talaria_class_report_free(struct talaria_report *report)
{
    free(report);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading one line of a report. */
#include <stdbool.h>
#include <string.h>

#include "common/report.h"

static na_plugin_report_entry
entry_of(const struct tp_report_line *line, const void *base)
{
    const void *place = (const char *) base + line->offset;
    na_plugin_report_entry entry = {.name = line->name};

    switch (line->kind) {
    case TP_REPORT_TEXT:
        memcpy(&entry.text, place, sizeof(entry.text));
        break;
    case TP_REPORT_CHARS:
        entry.text = place;
        break;
    case TP_REPORT_NUMBER:
        entry.value = *(const uint32_t *) place;
        break;
    case TP_REPORT_COUNTER:
        entry.value = atomic_load_explicit(
            (const _Atomic uint64_t *) place, memory_order_relaxed);
        break;
    case TP_REPORT_FLAG:
        entry.text = line->texts;
        if (!*(const bool *) place)
            entry.text += strlen(entry.text) + 1;
        break;
    }
    bool is_text =
        line->kind == TP_REPORT_TEXT || line->kind == TP_REPORT_CHARS;
    if (is_text && (entry.text == NULL || entry.text[0] == '\0'))
        entry.text = line->texts != NULL ? line->texts : "";
    return entry;
}

uint32_t
tp_report_entries(const struct tp_report_line *lines, uint32_t count,
    const void *base, uint32_t first, na_plugin_report_entry *entries,
    uint32_t max)
{
    uint32_t filled = 0;

    for (uint32_t i = first; i < count && filled < max; i++)
        entries[filled++] = entry_of(&lines[i], base);
    return filled;
}

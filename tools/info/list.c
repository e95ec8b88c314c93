/* SPDX-License-Identifier: BSD-3-Clause */
/* talaria info without an info string: lists the plugins. */
#include "info/info.h"

#include "common/output.h"
#include "common/tool.h"
#include "na.h"
#include "talaria.h"

#include <stdlib.h>

static const char *
entry_state(const struct talaria_plugin_entry *entry)
{
    if (entry->stage != TALARIA_STAGE_OK)
        return "refused";
    return entry->shadowed ? "shadowed" : "usable";
}

static json_t *
entry_json(const struct talaria_plugin_entry *entry)
{
    json_t *protocols = json_array();

    for (const char *const *p = entry->protocols; p && *p; p++)
        output_json_append(&protocols, output_json_text(*p));
    return json_pack("{s:o, s:o, s:o, s:b, s:i, s:{s:i, s:i, s:i}, s:o, s:o, "
                     "s:s, s:s, s:s, s:s, s:o}",
        "name", output_json_text(entry->name), "version",
        output_json_text(entry->version), "protocols", protocols,
        "other_protocols", (int) entry->other_protocols, "priority",
        (int) entry->priority, "abi", "major", (int) entry->abi_major, "minor",
        (int) entry->abi_minor, "min_host_minor", (int) entry->min_host_minor,
        "library", output_json_text(entry->library_path), "manifest",
        output_json_text(entry->manifest_path), "source",
        talaria_source_to_string(entry->source), "state", entry_state(entry),
        "stage", talaria_stage_to_string(entry->stage), "code",
        NA_Error_to_string(entry->code), "text", output_json_text(entry->text));
}

static int
print_json(const struct talaria_plugin_list *list)
{
    json_t *plugins = json_array();

    for (size_t i = 0; i < list->count; i++)
        output_json_append(&plugins, entry_json(list->entries[i]));
    return output_json(json_pack("{s:o}", "plugins", plugins));
}

/* Text of columns. */
struct line {
    char priority[16];
    char *protocols;
};

/* Returns "tcp verbs" (a protocol may contain commas), with "..." for protocols
 * that are not listed. NULL: out of memory. */
static char *
join_protocols(const struct talaria_plugin_entry *entry)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    const char *separator = "";

    if (!stream)
        return NULL;
    for (const char *const *p = entry->protocols; p && *p; p++) {
        fprintf(stream, "%s%s", separator, *p);
        separator = " ";
    }
    if (entry->other_protocols)
        fprintf(stream, "%s...", separator);
    fclose(stream);
    return text;
}

static void
fill_row(struct output_row *row, struct line *line,
    const struct talaria_plugin_entry *entry)
{
    const char *path =
        entry->library_path ? entry->library_path : entry->manifest_path;

    line->protocols = join_protocols(entry);
    if (entry->name)
        snprintf(line->priority, sizeof line->priority, "%d", entry->priority);
    row->cells[0] = entry->name;
    row->cells[1] = entry->version;
    row->cells[2] = line->priority;
    row->cells[3] = entry_state(entry);
    row->cells[4] = line->protocols;
    row->cells[5] =
        entry->source == TALARIA_SOURCE_REGISTERED ? "(registered)" : path;
}

static int
print_table(const struct talaria_plugin_list *list)
{
    static const struct output_row head = {
        .cells = {"NAME", "VERSION", "PRIORITY", "STATE", "PROTOCOLS", "PATH"}};
    struct output_row *rows = calloc(list->count + 1, sizeof *rows);
    struct line *lines = calloc(list->count + 1, sizeof *lines);

    if (rows && lines) {
        rows[0] = head;
        for (size_t i = 0; i < list->count; i++)
            fill_row(&rows[i + 1], &lines[i], list->entries[i]);
        output_table(stdout, "", rows, list->count + 1, 6);
    }
    for (size_t i = 0; lines && i < list->count; i++)
        free(lines[i].protocols);
    free(lines);
    free(rows);
    return rows && lines ? TOOL_OK : TOOL_FAILED;
}

static void
print_reasons(const struct talaria_plugin_list *list)
{
    const char *head = "\nRefused:\n";

    for (size_t i = 0; i < list->count; i++) {
        const struct talaria_plugin_entry *entry = list->entries[i];

        if (entry->stage == TALARIA_STAGE_OK)
            continue;
        printf("%s  %s\n    %s: %s\n", head,
            entry->manifest_path ? entry->manifest_path : entry->library_path,
            talaria_stage_to_string(entry->stage), entry->text);
        head = "";
    }
}

int
info_list(bool json)
{
    struct talaria_plugin_list *list;
    na_return_t ret = talaria_plugin_list(&list);
    int result;

    if (ret != NA_SUCCESS) {
        fprintf(stderr, "talaria info: %s\n", NA_Error_to_string(ret));
        return TOOL_FAILED;
    }
    if (json) {
        result = print_json(list);
    } else {
        result = print_table(list);
        print_reasons(list);
    }
    talaria_plugin_list_free(list);
    return result;
}

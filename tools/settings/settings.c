/* SPDX-License-Identifier: BSD-3-Clause */
/* talaria settings: every setting with its value, and where that is from. */
#include "settings/settings.h"

#include "common/output.h"
#include "common/tool.h"
#include "settings/near.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 5

struct arguments {
    const char **names;
    size_t count;
    bool json;
};

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "Print JSON", 0},
    {0},
};

static error_t
parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case 'j':
        arguments->json = true;
        return 0;
    case ARGP_KEY_ARG:
        arguments->names[arguments->count++] = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char *
name_of(const struct settings_row *row)
{
    return row->key ? row->key : row->variable;
}

static const char *
source_of(const struct settings_row *row)
{
    return row->from_environment ? "environment" : "default";
}

static bool
is_chosen(const struct settings_row *row, const struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        if (settings_is_named(row, arguments->names[i]))
            return true;
    return arguments->count == 0;
}

/* Removes the rows that were not requested. Returns false, after a message, if
 * a name means no row. */
static bool
choose(struct settings_list *list, const struct arguments *arguments)
{
    size_t kept = 0;

    for (size_t i = 0; i < arguments->count; i++) {
        const char *name = arguments->names[i], *near_name;
        struct near near;
        size_t j = 0;

        near_init(&near, name);
        for (; j < list->count && !settings_is_named(&list->rows[j], name); j++)
            near_try(&near, name_of(&list->rows[j]));
        if (j < list->count)
            continue;
        near_name = near_result(&near);
        fprintf(stderr, "talaria settings: no setting or plugin \"%s\"%s%s%s\n",
            name, near_name ? ": did you mean " : "",
            near_name ? near_name : "", near_name ? "?" : "");
        return false;
    }
    for (size_t i = 0; i < list->count; i++)
        if (is_chosen(&list->rows[i], arguments))
            list->rows[kept++] = list->rows[i];
    list->count = kept;
    return true;
}

static bool
all_valid(const struct settings_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (!list->rows[i].valid)
            return false;
    return list->fault_count == 0;
}

static json_t *
row_json(const struct settings_row *row)
{
    return json_pack("{s:o, s:o, s:o, s:s, s:s, s:o, s:o, s:s, s:b, s:o}",
        "owner", output_json_text(row->owner), "key",
        output_json_text(row->key), "variable",
        output_json_text(row->variable[0] ? row->variable : NULL), "kind",
        row->kind, "range", row->range, "default",
        output_json_text(row->initial), "value", output_json_text(row->value),
        "source", source_of(row), "valid", row->valid, "text",
        output_json_text(row->text));
}

static int
print_json(const struct settings_list *list, bool all)
{
    json_t *rows = json_array(), *unknown = json_array();
    json_t *faults = json_array();
    char name[SETTINGS_VARIABLE_SIZE];
    const char *nearest;

    for (size_t i = 0; i < list->count; i++)
        output_json_append(&rows, row_json(&list->rows[i]));
    for (size_t at = 0;
         all && settings_next_unknown(list, &at, name, &nearest);)
        output_json_append(&unknown,
            json_pack("{s:o, s:o}", "variable", output_json_text(name),
                "nearest", output_json_text(nearest)));
    for (size_t i = 0; i < list->fault_count; i++)
        output_json_append(
            &faults, json_pack("{s:o, s:o, s:o}", "plugin",
                         output_json_text(list->faults[i].plugin), "path",
                         output_json_text(list->faults[i].path), "text",
                         output_json_text(list->faults[i].text)));
    return output_json(
        json_pack("{s:b, s:o, s:o, s:o}", "privileged", list->privileged,
            "settings", rows, "unknown", unknown, "not_read", faults));
}

static bool
print_rows(const struct settings_list *list)
{
    struct output_row *rows = calloc(list->count + 1, sizeof *rows);

    if (!rows)
        return false;
    rows[0] = (struct output_row){
        .cells = {"SETTING", "VALUE", "FROM", "DEFAULT", "RANGE"}};
    for (size_t i = 0; i < list->count; i++) {
        const struct settings_row *row = &list->rows[i];

        rows[i + 1] =
            (struct output_row){.cells = {name_of(row), row->value,
                                    row->valid ? source_of(row) : "INVALID",
                                    row->initial, row->range},
                .note = row->text};
    }
    output_table(stdout, "", rows, list->count + 1, COLUMNS);
    free(rows);
    return true;
}

static void
print_unknown(const struct settings_list *list)
{
    const char *nearest, *head = "\nNot settings:\n";
    char name[SETTINGS_VARIABLE_SIZE];

    for (size_t at = 0; settings_next_unknown(list, &at, name, &nearest);) {
        printf("%s  %s%s%s%s\n", head, name, nearest ? ": did you mean " : "",
            nearest ? nearest : "", nearest ? "?" : "");
        head = "";
    }
}

static int
print_text(const struct settings_list *list, bool all)
{
    const char *head = "\nNot read:\n";

    if (!print_rows(list))
        return TOOL_FAILED;
    if (all)
        print_unknown(list);
    for (size_t i = 0; i < list->fault_count; i++) {
        printf("%s  %s\n    %s\n", head, list->faults[i].path,
            list->faults[i].text);
        head = "";
    }
    if (list->privileged)
        puts("\nThis process is privileged: of the environment, only "
             "HG_LOG_LEVEL and HG_LOG_SUBSYS count.");
    return TOOL_OK;
}

static int
show(const struct arguments *arguments)
{
    struct settings_list list;
    int result;

    if (!settings_collect(&list, arguments->names, arguments->count)) {
        fputs("talaria settings: out of memory\n", stderr);
        return TOOL_FAILED;
    }
    if (!choose(&list, arguments))
        result = TOOL_FAILED;
    else if (arguments->json)
        result = print_json(&list, arguments->count == 0);
    else
        result = print_text(&list, arguments->count == 0);
    if (!all_valid(&list))
        result = TOOL_FAILED;
    settings_free(&list);
    return result;
}

int
tool_settings(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
        .parser = parse_option,
        .args_doc = "[NAME...]",
        .doc =
            "Shows each setting of the core and of the plugins: its value in "
            "this environment, where that is from, the default, the valid "
            "values and what it does; and variables that only look like "
            "settings.\n\n"
            "NAME is a setting, a variable, a plugin, core, or an info string: "
            "only these are shown. Opens no transport.\v" TOOL_EXIT_CODES};
    struct arguments arguments = {NULL, 0, false};
    int result = TOOL_FAILED;

    arguments.names = calloc((size_t) argc, sizeof *arguments.names);
    if (arguments.names &&
        argp_parse(&argp, argc, argv, 0, NULL, &arguments) == 0)
        result = show(&arguments);
    free(arguments.names);
    return result;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of settings: variables of the core, its settings, those of plugins.
 */
#include "settings/row.h"

#include "talaria.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define CORE "core"
#define LEVELS "none, error, warning, info, debug, fatal, err, warn, min_debug"

/* The variables of base/env.h that are no settings of a class. */
static const struct {
    const char *name;
    const char *range; /* NULL: a boolean */
    const char *initial;
    const char *text;
    bool privileged_too; /* not ignored in a privileged process */
} variables[] = {
    {"HG_LOG_LEVEL", LEVELS, "error", "level of the log on standard error",
        true},
    {"HG_LOG_SUBSYS",
        "plugin, transport, na, hg, bulk, proc, all, by commas; ~ excludes one",
        "all", "subsystems that log more than errors", true},
    {"TALARIA_PLUGIN_FILES", "paths, by colons", "",
        "shared objects: no other plugins are searched", false},
    {"TALARIA_PLUGIN_PATH", "paths, by colons", "",
        "folders with manifests, searched before those of the system", false},
    {"TALARIA_PUBLISH", NULL, "0",
        "1: publish statistics, for talaria top and talaria export", false},
    {"TALARIA_TRACE", "a path", "",
        "file for a trace of the calls; %p: the process's id", false},
};

struct settings_row *
settings_row_add(struct settings_list *list)
{
    struct settings_row *rows =
        reallocarray(list->rows, list->count + 1, sizeof *list->rows);

    if (!rows)
        return NULL;
    list->rows = rows;
    return &rows[list->count++];
}

/* Whether a word is in a list with ", " between. */
static bool
is_listed(const char *word, const char *words)
{
    size_t length = strlen(word);

    while (*words) {
        size_t next = strcspn(words, ",");

        if (next == length && memcmp(words, word, length) == 0)
            return true;
        words += next;
        words += strspn(words, ", ");
    }
    return false;
}

static bool
add_variables(struct settings_list *list)
{
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        struct settings_row *row = settings_row_add(list);
        const char *value = list->privileged && !variables[i].privileged_too
                                ? NULL
                                : getenv(variables[i].name);

        if (!row)
            return false;
        *row = (struct settings_row){.owner = CORE,
            .kind = "text",
            .initial = variables[i].initial,
            .text = variables[i].text,
            .valid = true};
        snprintf(row->variable, sizeof row->variable, "%s", variables[i].name);
        row->from_environment = value && *value;
        row->value = row->from_environment ? value : row->initial;
        if (variables[i].range)
            snprintf(row->range, sizeof row->range, "%s", variables[i].range);
        else
            settings_set_boolean(row);
        if (strcmp(row->range, LEVELS) == 0)
            row->valid = is_listed(row->value, LEVELS);
    }
    return true;
}

/* Returns the length of a name up to "://", and of its plugin if it has one. */
static size_t
length_of(const char *name)
{
    const char *end = strstr(name, "://");
    size_t length = end ? (size_t) (end - name) : strlen(name);
    const char *plus = memchr(name, '+', length);

    return plus ? (size_t) (plus - name) : length;
}

static bool
is_word(const char *name, size_t length, const char *word)
{
    return word && strlen(word) == length && memcmp(name, word, length) == 0;
}

/* Whether a plugin has to be loaded for a name. */
static bool
may_mean(const char *name, const struct talaria_plugin_entry *entry)
{
    size_t length = length_of(name);
    size_t prefix = strcspn(name, ".");

    if (strncmp(name, "TALARIA_", strlen("TALARIA_")) == 0 || !entry->name ||
        is_word(name, length, entry->name) ||
        is_word(name, prefix, entry->name))
        return true;
    for (const char *const *p = entry->protocols; p && *p; p++)
        if (is_word(name, length, *p) || is_word(name, prefix, *p))
            return true;
    return false;
}

static bool
is_wanted(const struct talaria_plugin_entry *entry, const char *const *names,
    size_t name_count)
{
    if (entry->stage != TALARIA_STAGE_OK || entry->shadowed ||
        !entry->library_path)
        return false;
    for (size_t i = 0; i < name_count; i++)
        if (may_mean(names[i], entry))
            return true;
    return name_count == 0;
}

static bool
add_plugins(
    struct settings_list *list, const char *const *names, size_t name_count)
{
    struct talaria_plugin_list *plugins;
    bool done = talaria_plugin_list(&plugins) == NA_SUCCESS;

    if (!done)
        return false;
    for (size_t i = 0; i < plugins->count && done; i++)
        if (is_wanted(plugins->entries[i], names, name_count))
            done = settings_add_plugin(list, plugins->entries[i]->name,
                plugins->entries[i]->library_path);
    talaria_plugin_list_free(plugins);
    return done;
}

bool
settings_collect(
    struct settings_list *list, const char *const *names, size_t name_count)
{
    *list = (struct settings_list){.privileged = getauxval(AT_SECURE) != 0};
    if (add_variables(list) && settings_add_core(list) &&
        add_plugins(list, names, name_count))
        return true;
    settings_free(list);
    return false;
}

void
settings_free(struct settings_list *list)
{
    for (size_t i = 0; i < list->fault_count; i++) {
        free(list->faults[i].plugin);
        free(list->faults[i].path);
        free(list->faults[i].text);
    }
    free(list->faults);
    free(list->rows);
    *list = (struct settings_list){.count = 0};
}

bool
settings_is_named(const struct settings_row *row, const char *name)
{
    size_t length = length_of(name);

    for (const char *const *p = row->protocols; p && *p; p++)
        if (is_word(name, length, *p))
            return true;
    return is_word(name, length, row->owner) ||
           is_word(name, length, row->variable) ||
           (row->key && (is_word(name, length, row->key) ||
                            (strcspn(row->key, ".") == length &&
                                strncmp(row->key, name, length) == 0)));
}

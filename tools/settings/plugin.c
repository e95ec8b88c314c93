/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings in the descriptor of a plugin. */
#include "base/env.h"
#include "na_plugin.h"
#include "object/object.h"
#include "setting/core.h"
#include "setting/setting.h"
#include "settings/row.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(SETTINGS_VARIABLE_SIZE == BASE_ENV_NAME_SIZE,
    "the longest variable that the core reads");

static bool
add_fault(struct settings_list *list, const char *plugin, const char *path,
    const char *text)
{
    struct settings_fault *faults =
        reallocarray(list->faults, list->fault_count + 1, sizeof *list->faults);
    struct settings_fault *fault;

    if (!faults)
        return false;
    list->faults = faults;
    fault = &faults[list->fault_count++];
    *fault = (struct settings_fault){.plugin = plugin ? strdup(plugin) : NULL,
        .path = strdup(path),
        .text = strdup(text)};
    return fault->path && fault->text && (fault->plugin || !plugin);
}

/* Returns the descriptor of a shared object that stays loaded, or NULL and the
 * reason in fault. */
static const na_plugin *
load(const char *path, char *fault, size_t size)
{
    const na_plugin *table;
    void *object;

    if (!object_check(path, fault, size))
        return NULL;
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        snprintf(fault, size, "%s", dlerror());
        return NULL;
    }
    table = dlsym(object, NA_PLUGIN_SYMBOL_NAME);
    if (!table)
        snprintf(fault, size, "it exports no " NA_PLUGIN_SYMBOL_NAME);
    else if (table->magic != NA_PLUGIN_MAGIC ||
             table->abi_major != NA_PLUGIN_ABI_MAJOR ||
             table->size < NA_PLUGIN_SIZE_1_0 || !table->name ||
             !table->protocols)
        snprintf(fault, size, "its descriptor is not one of ABI %d",
            NA_PLUGIN_ABI_MAJOR);
    else if (setting_list_check(table, fault, size))
        return table;
    dlclose(object);
    return NULL;
}

/* A privileged process ignores the environment; an empty value counts as unset.
 */
static void
set_row(struct settings_list *list, struct settings_row *row, const char *owner,
    const na_plugin_setting *setting)
{
    const char *value;
    uint64_t number;

    *row = (struct settings_row){.owner = owner,
        .key = setting->key,
        .kind = setting_kind(setting->kind),
        .initial = setting->initial,
        .text = setting->text};
    if (!base_env_variable(setting->key, row->variable))
        row->variable[0] = '\0';
    setting_wanted(setting, row->range, sizeof row->range);
    value =
        row->variable[0] && !list->privileged ? getenv(row->variable) : NULL;
    row->from_environment = value && *value;
    row->value = row->from_environment ? value : setting->initial;
    row->valid = setting_parse(setting, row->value, &number);
}

void
settings_set_boolean(struct settings_row *row)
{
    bool on;

    row->kind = setting_kind(NA_PLUGIN_SETTING_BOOLEAN);
    snprintf(row->range, sizeof row->range, "%s", SETTING_BOOLEANS);
    row->valid = setting_parse_boolean(row->value, &on);
}

static bool
add_settings(struct settings_list *list, const char *owner,
    const char *const *protocols, const na_plugin_setting *const *settings)
{
    for (; settings && *settings; settings++) {
        struct settings_row *row = settings_row_add(list);

        if (!row)
            return false;
        set_row(list, row, owner, *settings);
        row->protocols = protocols;
    }
    return true;
}

bool
settings_add_core(struct settings_list *list)
{
    return add_settings(list, "core", NULL, setting_core);
}

bool
settings_add_plugin(
    struct settings_list *list, const char *plugin, const char *path)
{
    char fault[SETTING_FAULT_SIZE];
    const na_plugin *table = load(path, fault, sizeof fault);

    if (!table)
        return add_fault(list, plugin, path, fault);
    return add_settings(list, table->name, table->protocols, table->settings);
}

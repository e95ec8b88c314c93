/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin's settings, read as a core does. */
#include "check/setting.h"

#include "check/target.h"
#include "setting/setting.h"

#include <string.h>

static struct {
    const na_plugin_setting *setting;
    const char *text;
} forced;

void
kit_settings_check(const na_plugin *table)
{
    char fault[SETTING_FAULT_SIZE] = "";

    if (!setting_list_check(table, fault, sizeof fault))
        kit_fail(12,
            "settings with keys of their own, a text, and an initial value "
            "within their range",
            "%s", fault);
}

const na_plugin_setting *
kit_setting_find(const na_plugin *table, const char *key)
{
    const na_plugin_setting *const *list = table->settings;

    for (; list && *list; list++)
        if ((*list)->key && strcmp((*list)->key, key) == 0)
            return *list;
    return NULL;
}

void
kit_settings_given(const na_plugin *table)
{
    for (size_t i = 0; i < kit_target.settings_count; i++) {
        const struct kit_setting *given = &kit_target.settings[i];
        const na_plugin_setting *setting = kit_setting_find(table, given->key);
        char wanted[128];
        uint64_t number;

        if (!setting)
            kit_not_run("the plugin has no setting %s", given->key);
        setting_wanted(setting, wanted, sizeof wanted);
        if (!setting_parse(setting, given->value, &number))
            kit_not_run(
                "%s is \"%s\", wanted %s", given->key, given->value, wanted);
    }
}

const char *
kit_setting_text(const na_plugin_setting *setting)
{
    if (setting == forced.setting)
        return forced.text;
    for (size_t i = 0; i < kit_target.settings_count; i++)
        if (strcmp(kit_target.settings[i].key, setting->key) == 0)
            return kit_target.settings[i].value;
    return setting->initial;
}

uint64_t
kit_setting_number(const na_plugin_setting *setting)
{
    uint64_t number;

    return setting_parse(setting, kit_setting_text(setting), &number) ? number
                                                                      : 0;
}

void
kit_setting_force(const na_plugin_setting *setting, const char *text)
{
    forced.setting = setting;
    forced.text = text;
}

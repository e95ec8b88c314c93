/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of the plugin's settings for the classes of a case. */
#ifndef KIT_SETTING_H
#define KIT_SETTING_H

#include "check/kit.h"

/* Fails the case if the list of settings in the plugin's table is invalid. */
void kit_settings_check(const na_plugin *table);

/* Ends the case as not run if a --set is not a valid value of a setting. */
void kit_settings_given(const na_plugin *table);

/* Returns the setting with a key, or NULL. */
const na_plugin_setting *kit_setting_find(
    const na_plugin *table, const char *key);

/* Returns its value: of kit_setting_force, else --set, else the default. */
const char *kit_setting_text(const na_plugin_setting *setting);
uint64_t kit_setting_number(const na_plugin_setting *setting);

/* Gives a setting a valid value in this process. NULL, NULL: back to the
 * defaults. */
void kit_setting_force(const na_plugin_setting *setting, const char *text);

#endif /* KIT_SETTING_H */

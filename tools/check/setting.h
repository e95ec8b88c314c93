/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of the plugin's settings for the classes of a case. */
#ifndef KIT_SETTING_H
#define KIT_SETTING_H

#include "check/kit.h"

/* The case fails unless the list in the plugin's table is sound. */
void kit_settings_check(const na_plugin *table);

/* The case is not run unless each --set is a value of a setting. */
void kit_settings_given(const na_plugin *table);

/* The setting of a key, NULL if the plugin lists none. */
const na_plugin_setting *kit_setting_find(
    const na_plugin *table, const char *key);

/* Its value: of kit_setting_force, else --set, else initial. */
const char *kit_setting_text(const na_plugin_setting *setting);
uint64_t kit_setting_number(const na_plugin_setting *setting);

/* Gives a setting a value in this process, which it must take. NULL, NULL: no
 * more. */
void kit_setting_force(const na_plugin_setting *setting, const char *text);

#endif /* KIT_SETTING_H */

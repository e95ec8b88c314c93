/* SPDX-License-Identifier: BSD-3-Clause */
/* One setting of a plugin: checks its description, and parses values. Needs
 * nothing else of the core. */
#ifndef SETTING_SETTING_H
#define SETTING_SETTING_H

#include "na_plugin.h"

#include <stdbool.h>
#include <stddef.h>

/* How long a line about a setting may be. */
#define SETTING_FAULT_SIZE 512U

/* Whether text is a value of the setting; its number is then in *number_p, 0 of
 * a TEXT. */
bool setting_parse(
    const na_plugin_setting *setting, const char *text, uint64_t *number_p);

/* What a value of the setting looks like, "bytes from 0 to 1M". */
void setting_wanted(const na_plugin_setting *setting, char *text, size_t size);

/* "text", "number", "bytes", "duration", "boolean", "unknown". */
const char *setting_kind(uint32_t kind);

/* Checks a plugin's list of settings. false: fault names the entry and the error.
 * The plugin's name and protocols have been checked before. */
bool setting_list_check(const na_plugin *plugin, char *fault, size_t size);

#endif /* SETTING_SETTING_H */

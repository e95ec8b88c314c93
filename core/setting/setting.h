/* SPDX-License-Identifier: BSD-3-Clause */
/* One setting of a plugin: checking its description, and parsing values.
 * Independent of the rest of the core. */
#ifndef SETTING_SETTING_H
#define SETTING_SETTING_H

#include "na_plugin.h"

#include <stdbool.h>
#include <stddef.h>

/* Maximum bytes of an error text about a setting. */
#define SETTING_FAULT_SIZE 512U

/* Returns whether text is one of these; *on_p is unchanged if not. */
#define SETTING_BOOLEANS "0, no, off, false; 1, yes, on, true"
bool setting_parse_boolean(const char *text, bool *on_p);

/* Returns whether text is a valid value; *number_p is its number, 0 for TEXT.
 */
bool setting_parse(
    const na_plugin_setting *setting, const char *text, uint64_t *number_p);

/* Writes the format of valid values, such as "bytes from 0 to 1M". */
void setting_wanted(const na_plugin_setting *setting, char *text, size_t size);

/* "text", "number", "bytes", "duration", "boolean", "unknown". */
const char *setting_kind(uint32_t kind);

/* Checks a plugin's list of settings. false: fault names the entry and the
 * error. Name and protocols of the plugin were checked before. */
bool setting_list_check(const na_plugin *plugin, char *fault, size_t size);

#endif /* SETTING_SETTING_H */

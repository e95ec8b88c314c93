/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers of tests that use a plugin through the ABI alone: the loaded object,
 * a host table, operation memory, addresses, reports. */
#ifndef PLUGIN_USER_H
#define PLUGIN_USER_H

#include "na_plugin.h"

/* Monotonic time in nanoseconds. */
uint64_t now_ns(void);

/* Loads the plugin whose path is in an environment variable. Exits the process
 * on failure, so it may be called outside of cases. */
const na_plugin *plugin_load(const char *variable);

/* Value of a setting as a number: of set_value, unless NULL, if the setting is
 * set_key, else its default. Exits the process if there is no such setting or
 * the value is invalid, so it may be called outside of cases. */
uint64_t plugin_setting(const na_plugin *plugin, const char *key,
    const char *set_key, const char *set_value);

/* Fills in a host table that returns the default of each setting of the plugin
 * loaded last, and ignores wake. priv is the caller's. */
typedef void (*plugin_log_t)(const na_plugin_host *host, int32_t level,
    const char *file, uint32_t line, const char *text);
void plugin_host(na_plugin_host *host, void *priv, const int32_t *log_level,
    plugin_log_t log);

/* Allocates zeroed memory for one operation. */
void *plugin_op(const na_plugin_opened *opened);

/* The class's own address as a string; the address for a string. Both must
 * succeed. */
void plugin_self(
    const na_plugin_ops *ops, na_plugin_class *cls, char *text, uint64_t size);
na_plugin_addr *plugin_lookup(
    const na_plugin_ops *ops, na_plugin_class *cls, const char *text);

/* A counter of the class's report, which must exist; a text of it, "" if there
 * is none of that name. */
uint64_t plugin_counter(
    const na_plugin_ops *ops, na_plugin_class *cls, const char *name);
const char *plugin_text(
    const na_plugin_ops *ops, na_plugin_class *cls, const char *name);

#endif /* PLUGIN_USER_H */

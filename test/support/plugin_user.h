/* SPDX-License-Identifier: BSD-3-Clause */
/* What every test that uses a plugin through the ABI alone begins with: the
 * loaded object, a host table, an operation's memory, addresses, reports. */
#ifndef PLUGIN_USER_H
#define PLUGIN_USER_H

#include "na_plugin.h"

/* Nanoseconds of a clock that only goes forward. */
uint64_t now_ns(void);

/* The plugin, from the path in that variable of the environment. Ends the
 * process if there is none: also to be used outside of cases. */
const na_plugin *plugin_load(const char *variable);

/* The number of a setting: of set_value, unless NULL, if it is the one with
 * set_key, else its initial one. Ends the process if there is none, or the value is
 * wrong: also to be used outside of cases. */
uint64_t plugin_setting(const na_plugin *plugin, const char *key,
    const char *set_key, const char *set_value);

/* Fills in a host that has the initial number of each setting of the plugin that
 * was loaded last, and hears no wake; priv is its own. */
typedef void (*plugin_log_t)(const na_plugin_host *host, int32_t level,
    const char *file, uint32_t line, const char *text);
void plugin_host(na_plugin_host *host, void *priv, const int32_t *log_level,
    plugin_log_t log);

/* Memory for one operation, zeroed. */
void *plugin_op(const na_plugin_opened *opened);

/* The class's own address as a string, and the address of a string; both must
 * work. */
void plugin_self(
    const na_plugin_ops *ops, na_plugin_class *cls, char *text, uint64_t size);
na_plugin_addr *plugin_lookup(
    const na_plugin_ops *ops, na_plugin_class *cls, const char *text);

/* A counter of the class's report, which must be there; a text of it, "" if
 * there is none of that name. */
uint64_t plugin_counter(
    const na_plugin_ops *ops, na_plugin_class *cls, const char *name);
const char *plugin_text(
    const na_plugin_ops *ops, na_plugin_class *cls, const char *name);

#endif /* PLUGIN_USER_H */

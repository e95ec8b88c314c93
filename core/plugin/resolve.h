/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entry point of this folder: from a parsed info string to its plugin,
 * loaded and checked.
 */
#ifndef PLUGIN_RESOLVE_H
#define PLUGIN_RESOLVE_H

#include "na_types.h"

struct na_plugin;
struct plugin_info;
struct plugin_report;

/* Finds and loads the plugin of an info string. With a plugin's name it is the
 * first one of that name in search order; with a protocol only, the one of
 * highest priority that lists it. *plugin_p is valid as long as the process (a
 * registered one as long as the program keeps it).
 *
 * report: gets an entry for each candidate, the last of which decides; or NULL.
 *
 * INVALID_ARG: malformed name (see plugin_info_split); NOENTRY: no plugin of
 * that name; PROTONOSUPPORT: it does not offer the protocol, or none does;
 * PERMISSION: the file is writable by others; FAULT: it cannot be loaded;
 * PROTOCOL_ERROR: it violates the ABI, or contradicts its manifest; NOMEM. Each
 * is logged in one line. Reads files; calls no function of the plugin. [any
 * thread] */
na_return_t plugin_resolve(const struct plugin_info *info,
    struct plugin_report *report, const struct na_plugin **plugin_p);

/* Loads one after the other each plugin that plugin_resolve could return, and
 * calls visit with it, without a lock held: those that offer the protocol
 * (NULL: any), with the name plugin (NULL: any). Stops when visit does not
 * return SUCCESS, and returns that code. A plugin that cannot be loaded is
 * skipped, after a log line at level warning; if it is named, the error is that
 * of plugin_resolve. PROTONOSUPPORT, after a log line: none offers the
 * protocol. [any thread] */
na_return_t plugin_each(const char *plugin, const char *protocol,
    na_return_t (*visit)(void *arg, const struct na_plugin *plugin), void *arg);

/* Returns the real path of a loaded plugin's shared object, NULL for a
 * registered one. Valid until plugin_cleanup. [any thread] */
const char *plugin_path(const struct na_plugin *plugin);

/* Clears registered plugins, added folders and published reports. Loaded
 * plugins remain mapped. No other function of this folder may be running. */
void plugin_cleanup(void);

#endif /* PLUGIN_RESOLVE_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The door of this folder: from an info string that was taken apart to the one
 * plugin that it means, loaded and accepted.
 */
#ifndef PLUGIN_RESOLVE_H
#define PLUGIN_RESOLVE_H

#include "na_types.h"

struct na_plugin;
struct plugin_info;
struct plugin_report;

/* Finds and loads the plugin of an info string. One that names its plugin
 * opens the first in search order of that name and no other; a bare protocol
 * the one of highest priority that lists it. *plugin_p stays valid as long as
 * the process (a registered one as long as its program promised).
 *
 * report: gets an entry for each candidate, the last of which decides; or NULL.
 *
 * INVALID_ARG: it does not understand the name (see plugin_info_split);
 * NOENTRY: none of that name; PROTONOSUPPORT: it, or none, has the protocol;
 * PERMISSION: others may write the file; FAULT: it cannot be loaded;
 * PROTOCOL_ERROR: it breaks the ABI, or contradicts its manifest; NOMEM. One
 * line is then logged. Reads files; runs none of the plugin's functions.
 * [any thread] */
na_return_t plugin_resolve(const struct plugin_info *info,
    struct plugin_report *report, const struct na_plugin **plugin_p);

/* Loads, one after the other, each plugin that plugin_resolve could return and
 * calls visit with it, without a lock held: those that offer the protocol (NULL:
 * any), of the name plugin (NULL: any). Ends when visit does not return SUCCESS,
 * with what that returned. One that cannot be loaded is passed over with a log
 * line at level warning, unless it is named: then as plugin_resolve.
 * PROTONOSUPPORT, after a log line: none has the protocol. [any thread] */
na_return_t plugin_each(const char *plugin, const char *protocol,
    na_return_t (*visit)(void *arg, const struct na_plugin *plugin), void *arg);

/* The real path of the shared object that a plugin was loaded from, NULL for a
 * registered one. Valid until plugin_cleanup. [any thread] */
const char *plugin_path(const struct na_plugin *plugin);

/* Forgets registered plugins, added folders and published reports. Loaded
 * plugins stay mapped. Nothing else of this folder runs. */
void plugin_cleanup(void);

#endif /* PLUGIN_RESOLVE_H */

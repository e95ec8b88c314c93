/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Info strings: "plugin+protocol://name", of which the plugin and the name may
 * be missing. Strict: what is not understood is refused.
 */
#ifndef PLUGIN_INFO_STRING_H
#define PLUGIN_INFO_STRING_H

#include "na_types.h"

#include <stdbool.h>
#include <stdint.h>

/* Longest info string in bytes, without its zero. */
#define PLUGIN_INFO_MAX 1023

struct plugin_info {
    char *plugin;   /* "ofi", NULL for a bare protocol */
    char *protocol; /* "tcp", "tcp;ofi_rxm", "rc,ud" */
    char *name;     /* what follows "://", NULL if nothing does */
    char *device;   /* by plugin_info_split; until then NULL, */
    char *host;     /* NULL, an IPv6 address without its brackets, */
    int32_t port;   /* and -1 */
};

/* Takes an info string apart, but for its name. INVALID_ARG, after one log line
 * that quotes the string; NOMEM. To be given back to plugin_info_finish.
 * [any thread] */
na_return_t plugin_info_parse(const char *string, struct plugin_info *info_p);

/* Takes the name apart: "device/host:port", of which each may be missing. For
 * a plugin without NA_PLUGIN_OPAQUE_NAME. INVALID_ARG, after one log line (not
 * once plugin_resolve has succeeded, which looks first); NOMEM; info is then as
 * it was. */
na_return_t plugin_info_split(struct plugin_info *info);

/* Frees what the two have allocated, not info itself. NULL is allowed. */
void plugin_info_finish(struct plugin_info *info);

/* Why plugin_info_parse refuses a string or, with split, plugin_info_split its
 * name: words for a report, constant; NULL if they do not. And the latter of a
 * name alone. */
const char *plugin_info_fault(const char *string, bool split);
const char *plugin_info_name_fault(const char *name);

/* What may stand before the '+' and, as a plugin says, after it. */
bool plugin_info_is_plugin(const char *name);
bool plugin_info_is_protocol(const char *protocol);

#endif /* PLUGIN_INFO_STRING_H */

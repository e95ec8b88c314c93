/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Info strings: "plugin+protocol://name", in which the plugin and the name are
 * optional. Anything else is refused.
 */
#ifndef PLUGIN_INFO_STRING_H
#define PLUGIN_INFO_STRING_H

#include "na_types.h"

#include <stdbool.h>
#include <stdint.h>

/* Maximum bytes of an info string, without its zero. */
#define PLUGIN_INFO_MAX 1023

struct plugin_info {
    char *plugin;   /* "ofi", NULL for a bare protocol */
    char *protocol; /* "tcp", "tcp;ofi_rxm", "rc,ud" */
    char *name;     /* //", NULL if nothing does */
    char *device;   /* set by plugin_info_split, or NULL */
    char *host;     /* NULL, or IPv6 address without brackets */
    int32_t port;   /* -1: none */
};

/* Parses an info string, except for its name. INVALID_ARG, after one log line
 * that quotes the string; NOMEM. The caller frees *info_p with
 * plugin_info_finish. [any thread] */
na_return_t plugin_info_parse(const char *string, struct plugin_info *info_p);

/* Parses the name: "device/host:port", each optional. For plugins without
 * NA_PLUGIN_OPAQUE_NAME. INVALID_ARG, after one log line (never after
 * plugin_resolve has succeeded, which checks it); NOMEM; info is then
 * unchanged. */
na_return_t plugin_info_split(struct plugin_info *info);

/* Frees what both functions have allocated, not info itself. NULL is allowed.
 */
void plugin_info_finish(struct plugin_info *info);

/* Returns why plugin_info_parse refuses a string, or with split
 * plugin_info_split its name; NULL if they accept it. Constant. */
const char *plugin_info_fault(const char *string, bool split);
/* Returns why plugin_info_split refuses a name, or NULL. Constant. */
const char *plugin_info_name_fault(const char *name);

/* Return whether a string can be before the '+', and after it. */
bool plugin_info_is_plugin(const char *name);
bool plugin_info_is_protocol(const char *protocol);

#endif /* PLUGIN_INFO_STRING_H */

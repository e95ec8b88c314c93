/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The description of a plugin, without its code: read from a manifest next to
 * the shared object, or copied from the descriptor in it; written as JSON.
 */
#ifndef PLUGIN_MANIFEST_H
#define PLUGIN_MANIFEST_H

#include "plugin/fault.h"

struct na_plugin;

/* Maximum bytes of a manifest. */
#define PLUGIN_MANIFEST_MAX 65536

/* Maximum protocols of one plugin, and bytes of its version. */
#define PLUGIN_PROTOCOLS_MAX 256
#define PLUGIN_VERSION_MAX 63

struct plugin_manifest {
    char *name;
    char *version;
    char *library_path; /* as read: not necessarily absolute */
    char **protocols;   /* NULL-terminated */
    int32_t priority;
    uint16_t abi_major;
    uint16_t abi_minor;
    uint16_t min_host_minor;
    bool other_protocols;
};

/* Reads the manifest at a real path, if only its owner may write it. All fields
 * are then within their limits. A fault in the JSON names the line. */
na_return_t plugin_manifest_read(const char *path,
    struct plugin_manifest **manifest_p, struct plugin_fault *fault);

/* Copies an accepted descriptor. */
na_return_t plugin_manifest_copy(const struct na_plugin *plugin,
    const char *library_path, struct plugin_manifest **manifest_p,
    struct plugin_fault *fault);

void plugin_manifest_destroy(struct plugin_manifest *manifest);

/* Checks that an accepted descriptor matches a manifest. */
na_return_t plugin_manifest_compare(const struct plugin_manifest *manifest,
    const struct na_plugin *plugin, struct plugin_fault *fault);

/* Returns whether a string is a valid version of a plugin. */
bool plugin_manifest_is_version(const char *version);

/* Returns the manifest as JSON, to be freed with free(). NULL: out of memory,
 * or library_path is not UTF-8. */
char *plugin_manifest_format(const struct plugin_manifest *manifest);

#endif /* PLUGIN_MANIFEST_H */

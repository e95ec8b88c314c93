/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a plugin is, without its code: read from a manifest beside the shared
 * object, or copied from the descriptor inside it; written as JSON.
 */
#ifndef PLUGIN_MANIFEST_H
#define PLUGIN_MANIFEST_H

#include "plugin/fault.h"

struct na_plugin;

/* Largest manifest that is read, in bytes. */
#define PLUGIN_MANIFEST_MAX 65536

/* Most protocols of one plugin, and longest version of its own in bytes. */
#define PLUGIN_PROTOCOLS_MAX 256
#define PLUGIN_VERSION_MAX 63

struct plugin_manifest {
    char *name;
    char *version;
    char *library_path; /* as read: not necessarily absolute */
    char **protocols;   /* NULL ends them */
    int32_t priority;
    uint16_t abi_major;
    uint16_t abi_minor;
    uint16_t min_host_minor;
    bool other_protocols;
};

/* Reads the one at a real path, if nobody else may write it. Every field is
 * then within its limits; what a fault says of JSON comes with its line. */
na_return_t plugin_manifest_read(const char *path,
    struct plugin_manifest **manifest_p, struct plugin_fault *fault);

/* Copies an accepted descriptor. */
na_return_t plugin_manifest_copy(const struct na_plugin *plugin,
    const char *library_path, struct plugin_manifest **manifest_p,
    struct plugin_fault *fault);

void plugin_manifest_destroy(struct plugin_manifest *manifest);

/* Whether an accepted descriptor says the same. */
na_return_t plugin_manifest_compare(const struct plugin_manifest *manifest,
    const struct na_plugin *plugin, struct plugin_fault *fault);

/* What a plugin may give as its version. */
bool plugin_manifest_is_version(const char *version);

/* As JSON text, to be freed. NULL: out of memory, or library_path is not
 * UTF-8. */
char *plugin_manifest_format(const struct plugin_manifest *manifest);

#endif /* PLUGIN_MANIFEST_H */

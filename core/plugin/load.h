/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a shared object to its accepted descriptor. What is accepted stays
 * mapped, one entry for each real path, and is shared by those who open it;
 * what is refused is unloaded again.
 */
#ifndef PLUGIN_LOAD_H
#define PLUGIN_LOAD_H

#include "plugin/fault.h"

struct na_plugin;
struct plugin_manifest;

/* Loads the plugin at a real path and compares it with its manifest.
 * [any thread] */
na_return_t plugin_load(const char *path,
    const struct plugin_manifest *manifest, const struct na_plugin **plugin_p,
    struct plugin_fault *fault);

/* Loads it, copies what its descriptor says, and unloads it again (unless it
 * is in use). library_path: what the copy says of its place. [any thread] */
na_return_t plugin_load_describe(const char *path, const char *library_path,
    struct plugin_manifest **manifest_p, struct plugin_fault *fault);

/* The real path of one that plugin_load has returned, NULL for others. Valid
 * until plugin_load_cleanup. [any thread] */
const char *plugin_load_path(const struct na_plugin *plugin);

/* Forgets what is loaded; it stays mapped. */
void plugin_load_cleanup(void);

#endif /* PLUGIN_LOAD_H */

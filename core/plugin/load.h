/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads a shared object and checks its descriptor. An accepted object remains
 * mapped, once for each real path, and is shared by all classes; a refused one
 * is unloaded.
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

/* Loads an object, copies its descriptor, and unloads it again (unless it is in
 * use). library_path: the path in the copy. [any thread] */
na_return_t plugin_load_describe(const char *path, const char *library_path,
    struct plugin_manifest **manifest_p, struct plugin_fault *fault);

/* Returns the real path of a plugin of plugin_load, else NULL. Valid until
 * plugin_load_cleanup. [any thread] */
const char *plugin_load_path(const struct na_plugin *plugin);

/* Clears the list of loaded plugins; they remain mapped. */
void plugin_load_cleanup(void);

#endif /* PLUGIN_LOAD_H */

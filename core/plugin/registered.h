/* SPDX-License-Identifier: BSD-3-Clause */
/* Plugins and search folders registered by the program. */
#ifndef PLUGIN_REGISTERED_H
#define PLUGIN_REGISTERED_H

#include "na_types.h"

struct na_plugin;

/* Return both in the order of registration, as copies that end in NULL. Free
 * the plugins with free(), the folders with plugin_registered_paths_free.
 * NOMEM. [any thread] */
na_return_t plugin_registered_plugins(const struct na_plugin ***plugins_p);
na_return_t plugin_registered_paths(char ***paths_p);
void plugin_registered_paths_free(char **paths);

/* Clears both. [any thread] */
void plugin_registered_cleanup(void);

#endif /* PLUGIN_REGISTERED_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program itself brings along: plugins by pointer, and folders. */
#ifndef PLUGIN_REGISTERED_H
#define PLUGIN_REGISTERED_H

#include "na_types.h"

struct na_plugin;

/* Both in the order in which they came, as a copy that ends in NULL and is
 * freed with free, the folders with plugin_registered_paths_free. NOMEM.
 * [any thread] */
na_return_t plugin_registered_plugins(const struct na_plugin ***plugins_p);
na_return_t plugin_registered_paths(char ***paths_p);
void plugin_registered_paths_free(char **paths);

/* Forgets all of it. [any thread] */
void plugin_registered_cleanup(void);

#endif /* PLUGIN_REGISTERED_H */

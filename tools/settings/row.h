/* SPDX-License-Identifier: BSD-3-Clause */
/* Filling a list of settings; each function returns false, or NULL, if out of
 * memory. */
#ifndef SETTINGS_ROW_H
#define SETTINGS_ROW_H

#include "settings/settings.h"

/* Appends a row, to be filled. */
struct settings_row *settings_row_add(struct settings_list *list);

/* Completes a row whose value is set: that of a boolean. */
void settings_set_boolean(struct settings_row *row);

/* Appends the core's own settings. */
bool settings_add_core(struct settings_list *list);

/* Appends the settings of a shared object, or a fault. plugin: its name in its
 * manifest, or NULL. */
bool settings_add_plugin(
    struct settings_list *list, const char *plugin, const char *path);

#endif /* SETTINGS_ROW_H */

/*
 * Permissions of plugins: a file or folder that is owned by a user other than
 * root and the effective user, or writable by its group or others, is refused.
 */
#ifndef PLUGIN_TRUST_H
#define PLUGIN_TRUST_H

#include "plugin/fault.h"

#include <sys/stat.h>

/* Checks the result of stat for a path. PERMISSION. */
na_return_t plugin_trust_stat(
    const char *path, const struct stat *st, struct plugin_fault *fault);

/* Checks the folder of a file, given by its real path. */
na_return_t plugin_trust_folder_of(
    const char *path, struct plugin_fault *fault);

#endif /* PLUGIN_TRUST_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may write a plugin: a file or folder that somebody other than root and
 * the effective user owns, or that its group or the world may write, is
 * refused.
 */
#ifndef PLUGIN_TRUST_H
#define PLUGIN_TRUST_H

#include "plugin/fault.h"

#include <sys/stat.h>

/* Asks this of what has been looked at by stat. PERMISSION. */
na_return_t plugin_trust_stat(
    const char *path, const struct stat *st, struct plugin_fault *fault);

/* Asks it of the folder in which a file of this real path lies. */
na_return_t plugin_trust_folder_of(
    const char *path, struct plugin_fault *fault);

#endif /* PLUGIN_TRUST_H */

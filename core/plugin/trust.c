/* SPDX-License-Identifier: BSD-3-Clause */
/* Permissions of plugins. */
#include "plugin/trust.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

na_return_t
plugin_trust_stat(
    const char *path, const struct stat *st, struct plugin_fault *fault)
{
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return plugin_fault_set(fault, TALARIA_STAGE_PERMISSION, NA_PERMISSION,
            "%s is owned by user %ju, wanted root or %ju", path,
            (uintmax_t) st->st_uid, (uintmax_t) geteuid());
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return plugin_fault_set(fault, TALARIA_STAGE_PERMISSION, NA_PERMISSION,
            "%s may be written by %s (mode %04o), wanted its owner only", path,
            st->st_mode & S_IWOTH ? "everyone" : "its group",
            st->st_mode & 07777U);
    return NA_SUCCESS;
}

na_return_t
plugin_trust_folder_of(const char *path, struct plugin_fault *fault)
{
    const char *slash = strrchr(path, '/');
    int length = slash ? (int) (slash - path) : 0;
    char folder[PATH_MAX];
    struct stat st;

    /* A file in the root folder has nothing before its slash. */
    snprintf(folder, sizeof folder, "%.*s", length > 0 ? length : 1, path);
    if (stat(folder, &st) != 0)
        return plugin_fault_errno(
            fault, TALARIA_STAGE_PERMISSION, errno, folder);
    return plugin_trust_stat(folder, &st, fault);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* One plugin found by the search. */
#include "plugin/candidate.h"

#include "na_plugin.h"
#include "plugin/trust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct plugin_candidate *
plugin_candidate_create(enum talaria_source source, const char *path)
{
    struct plugin_candidate *candidate = calloc(1, sizeof *candidate);

    if (!candidate)
        return NULL;
    candidate->source = source;
    if (path) {
        candidate->path = strdup(path);
        if (!candidate->path) {
            free(candidate);
            return NULL;
        }
    }
    return candidate;
}

void
plugin_candidate_destroy(struct plugin_candidate *candidate)
{
    if (!candidate)
        return;
    plugin_manifest_destroy(candidate->manifest);
    free(candidate->library_path);
    free(candidate->path);
    free(candidate);
}

na_return_t
plugin_candidate_set_registered(
    struct plugin_candidate *candidate, const struct na_plugin *plugin)
{
    candidate->registered = plugin;
    return plugin_manifest_copy(
        plugin, "", &candidate->manifest, &candidate->fault);
}

/* The ABI version of the manifest is checked before loading the object. */
static na_return_t
check_abi(const struct plugin_manifest *manifest, struct plugin_fault *fault)
{
    if (manifest->abi_major == NA_PLUGIN_ABI_MAJOR &&
        manifest->min_host_minor <= NA_PLUGIN_ABI_MINOR)
        return NA_SUCCESS;
    return plugin_fault_set(fault, TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR,
        "it is built on transport ABI %u.%u and needs a core with %u.%u, this "
        "one has %u.%u",
        manifest->abi_major, manifest->abi_minor, manifest->abi_major,
        manifest->min_host_minor, NA_PLUGIN_ABI_MAJOR, NA_PLUGIN_ABI_MINOR);
}

/* Checks a file by its real path: only its owner may write it. */
static na_return_t
check_library(const char *real, struct plugin_fault *fault)
{
    struct stat st;
    na_return_t ret;

    if (stat(real, &st) != 0)
        return plugin_fault_errno(fault, TALARIA_STAGE_NOT_FOUND, errno, real);
    if (!S_ISREG(st.st_mode))
        return plugin_fault_set(fault, TALARIA_STAGE_NOT_FOUND, NA_NOENTRY,
            "%s is not a file", real);
    ret = plugin_trust_stat(real, &st, fault);
    return ret == NA_SUCCESS ? plugin_trust_folder_of(real, fault) : ret;
}

/* Returns whether a path in a folder with a real path is real, too: it is not a
 * link. realpath would look at each folder again. */
static bool
is_real(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Sets library_path to the real path of the shared object at path. */
static na_return_t
set_library_path(
    struct plugin_candidate *candidate, const char *path, bool in_real_folder)
{
    candidate->library_path =
        in_real_folder && is_real(path) ? strdup(path) : realpath(path, NULL);
    if (!candidate->library_path)
        return plugin_fault_errno(&candidate->fault,
            errno == EACCES ? TALARIA_STAGE_PERMISSION
                            : TALARIA_STAGE_NOT_FOUND,
            errno, path);
    return check_library(candidate->library_path, &candidate->fault);
}

/* Finds the shared object of a manifest, whose path is relative to it. */
static na_return_t
find_library(struct plugin_candidate *candidate)
{
    const char *library = candidate->manifest->library_path;
    const char *slash = strrchr(candidate->path, '/');
    char *path;
    na_return_t ret;

    if (library[0] == '/')
        return set_library_path(candidate, library, false);
    if (asprintf(&path, "%.*s/%s", (int) (slash - candidate->path),
            candidate->path, library) < 0)
        return NA_NOMEM;
    ret = set_library_path(candidate, path, !strchr(library, '/'));
    free(path);
    return ret;
}

na_return_t
plugin_candidate_set_manifest(struct plugin_candidate *candidate)
{
    na_return_t ret = plugin_manifest_read(
        candidate->path, &candidate->manifest, &candidate->fault);

    candidate->from_manifest = true;
    if (ret == NA_SUCCESS)
        ret = check_abi(candidate->manifest, &candidate->fault);
    if (ret == NA_SUCCESS)
        ret = find_library(candidate);
    return ret == NA_NOMEM ? ret : NA_SUCCESS;
}

/* Finds the manifest next to a shared object. SUCCESS and NULL: there is none.
 */
static na_return_t
find_manifest_beside(const char *library, char **manifest_p)
{
    size_t length = strlen(library);
    char *path;

    if (length > 3 && strcmp(library + length - 3, ".so") == 0)
        length -= 3;
    if (asprintf(&path, "%.*s.json", (int) length, library) < 0)
        return NA_NOMEM;
    *manifest_p = realpath(path, NULL);
    free(path);
    return *manifest_p || errno != ENOMEM ? NA_SUCCESS : NA_NOMEM;
}

/* Makes a candidate that of a manifest, which must belong to the shared object
 * `library`. */
static na_return_t
take_manifest(
    struct plugin_candidate *candidate, char *manifest, const char *library)
{
    na_return_t ret;

    free(candidate->path);
    candidate->path = manifest;
    ret = plugin_candidate_set_manifest(candidate);
    if (ret == NA_SUCCESS && candidate->library_path &&
        strcmp(candidate->library_path, library) != 0)
        plugin_fault_set(&candidate->fault, TALARIA_STAGE_MANIFEST,
            NA_PROTOCOL_ERROR, "it is the manifest of %s, not of %s",
            candidate->library_path, library);
    return ret;
}

na_return_t
plugin_candidate_set_library(struct plugin_candidate *candidate)
{
    char *library, *manifest = NULL;
    na_return_t ret = set_library_path(candidate, candidate->path, false);

    if (ret != NA_SUCCESS)
        return ret == NA_NOMEM ? ret : NA_SUCCESS;
    ret = find_manifest_beside(candidate->library_path, &manifest);
    if (ret != NA_SUCCESS || !manifest)
        return ret;
    library = candidate->library_path;
    candidate->library_path = NULL;
    ret = take_manifest(candidate, manifest, library);
    free(library);
    return ret;
}

const char *
plugin_candidate_name(const struct plugin_candidate *candidate)
{
    return candidate->manifest ? candidate->manifest->name : NULL;
}

bool
plugin_candidate_offers(
    const struct plugin_candidate *candidate, const char *protocol, bool other)
{
    if (!candidate->manifest)
        return false;
    for (char **p = candidate->manifest->protocols; *p; p++)
        if (strcmp(*p, protocol) == 0)
            return true;
    return other && candidate->manifest->other_protocols;
}

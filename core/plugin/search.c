/* SPDX-License-Identifier: BSD-3-Clause */
/* The search for plugins. */
#include "plugin/search.h"

#include "base/env.h"
#include "plugin/registered.h"
#include "plugin/trust.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER_IN_SYSCONF "/talaria/plugins.d"
#define FOLDER_IN_LIB "/talaria/plugins-1"

/* Adds a candidate; NULL: out of memory. */
static struct plugin_candidate *
add_candidate(
    struct plugin_search *search, enum talaria_source source, const char *path)
{
    struct plugin_candidate *candidate;
    struct plugin_candidate **more = realloc(search->candidates,
        (search->count + 1) * sizeof(struct plugin_candidate *));

    if (!more)
        return NULL;
    search->candidates = more;
    candidate = plugin_candidate_create(source, path);
    if (candidate)
        search->candidates[search->count++] = candidate;
    return candidate;
}

/* Adds a refused candidate of which only a file or folder is known. */
static na_return_t
add_refused(struct plugin_search *search, enum talaria_source source,
    const char *path, const struct plugin_fault *fault)
{
    struct plugin_candidate *candidate = add_candidate(search, source, path);

    if (!candidate || fault->code == NA_NOMEM)
        return NA_NOMEM;
    candidate->fault = *fault;
    return NA_SUCCESS;
}

/* Adds a folder to the searched ones. *added_p: false if it was searched
 * before. */
static na_return_t
add_folder(struct plugin_search *search, const char *path, bool *added_p)
{
    char **more;

    *added_p = false;
    for (size_t i = 0; i < search->folder_count; i++)
        if (strcmp(search->folders[i], path) == 0)
            return NA_SUCCESS;
    more =
        realloc(search->folders, (search->folder_count + 1) * sizeof(char *));
    if (!more)
        return NA_NOMEM;
    search->folders = more;
    more[search->folder_count] = strdup(path);
    if (!more[search->folder_count])
        return NA_NOMEM;
    search->folder_count++;
    *added_p = true;
    return NA_SUCCESS;
}

static na_return_t
search_registered(struct plugin_search *search)
{
    const struct na_plugin **plugins;
    na_return_t ret = plugin_registered_plugins(&plugins);

    if (ret != NA_SUCCESS)
        return ret;
    for (size_t i = 0; ret == NA_SUCCESS && plugins[i]; i++) {
        struct plugin_candidate *candidate =
            add_candidate(search, TALARIA_SOURCE_REGISTERED, NULL);

        ret = candidate ? plugin_candidate_set_registered(candidate, plugins[i])
                        : NA_NOMEM;
    }
    free(plugins);
    return ret;
}

/* A dangling link among the manifests is a candidate too. folder: its real
 * path. */
static na_return_t
search_folder_entry(struct plugin_search *search, enum talaria_source source,
    const char *folder, const struct dirent *entry)
{
    struct plugin_candidate *candidate;
    struct plugin_fault fault;
    char *path, *real;
    na_return_t ret;

    if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0)
        return NA_NOMEM;
    /* A file's own path is real, that of a link is not. */
    real = entry->d_type == DT_REG ? path : realpath(path, NULL);
    if (real) {
        candidate = add_candidate(search, source, real);
        ret = candidate ? plugin_candidate_set_manifest(candidate) : NA_NOMEM;
    } else {
        plugin_fault_errno(&fault, TALARIA_STAGE_NOT_FOUND, errno, path);
        ret = add_refused(search, source, path, &fault);
    }
    if (real != path)
        free(real);
    free(path);
    return ret;
}

static int
is_manifest_name(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return entry->d_name[0] != '.' && length > 5 &&
           strcmp(entry->d_name + length - 5, ".json") == 0;
}

/* Compares bytes, for the same order in every locale. */
static int
compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Adds the manifests of a folder that only its owner may write, or the reason
 * why it is refused. */
static na_return_t
search_real_folder(struct plugin_search *search, enum talaria_source source,
    const char *folder)
{
    struct plugin_fault fault;
    struct dirent **entries = NULL;
    struct stat st;
    int count = -1;
    na_return_t ret = NA_SUCCESS;

    if (stat(folder, &st) != 0)
        plugin_fault_errno(&fault, TALARIA_STAGE_NOT_FOUND, errno, folder);
    else if (plugin_trust_stat(folder, &st, &fault) == NA_SUCCESS) {
        count = scandir(folder, &entries, is_manifest_name, compare_names);
        if (count < 0)
            plugin_fault_errno(&fault,
                errno == EACCES ? TALARIA_STAGE_PERMISSION
                                : TALARIA_STAGE_NOT_FOUND,
                errno, folder);
    }
    if (count < 0)
        return add_refused(search, source, folder, &fault);
    for (int i = 0; i < count; i++) {
        if (ret == NA_SUCCESS)
            ret = search_folder_entry(search, source, folder, entries[i]);
        free(entries[i]);
    }
    free(entries);
    return ret;
}

/* A missing folder is reported, since it was named explicitly. */
static na_return_t
search_folder(
    struct plugin_search *search, enum talaria_source source, const char *path)
{
    char *real = realpath(path, NULL);
    bool named =
        source == TALARIA_SOURCE_API_PATH || source == TALARIA_SOURCE_ENV_PATH;
    struct plugin_fault fault;
    int err = errno;
    bool added;
    na_return_t ret = add_folder(search, real ? real : path, &added);

    if (ret == NA_SUCCESS && added && real) {
        ret = search_real_folder(search, source, real);
    } else if (ret == NA_SUCCESS && added && (named || err != ENOENT)) {
        plugin_fault_errno(&fault,
            err == EACCES ? TALARIA_STAGE_PERMISSION : TALARIA_STAGE_NOT_FOUND,
            err, path);
        ret = add_refused(search, source, path, &fault);
    }
    free(real);
    return ret;
}

static na_return_t
search_api_paths(struct plugin_search *search)
{
    char **paths;
    na_return_t ret = plugin_registered_paths(&paths);

    if (ret != NA_SUCCESS)
        return ret;
    for (char **p = paths; ret == NA_SUCCESS && *p; p++)
        ret = search_folder(search, TALARIA_SOURCE_API_PATH, *p);
    plugin_registered_paths_free(paths);
    return ret;
}

static na_return_t
search_library(
    struct plugin_search *search, enum talaria_source source, const char *path)
{
    struct plugin_candidate *candidate = add_candidate(search, source, path);

    return candidate ? plugin_candidate_set_library(candidate) : NA_NOMEM;
}

/* Searches each folder of a colon-separated list. Empty entries are ignored. */
static na_return_t
search_list(
    struct plugin_search *search, enum talaria_source source, const char *list)
{
    na_return_t ret = NA_SUCCESS;

    while (ret == NA_SUCCESS && *list) {
        size_t length = strcspn(list, ":");
        char *path = strndup(list, length);

        if (!path)
            return NA_NOMEM;
        if (length > 0 && source == TALARIA_SOURCE_ENV_FILES)
            ret = search_library(search, source, path);
        else if (length > 0)
            ret = search_folder(search, source, path);
        free(path);
        list += length;
        list += *list == ':';
    }
    return ret;
}

/* A statically linked core has no file of its own. */
#ifdef TALARIA_BUILD_SHARED
static na_return_t
search_beside_core(struct plugin_search *search)
{
    static const char here[] = "";
    char *core, *slash, *path;
    Dl_info info;
    na_return_t ret;

    if (!dladdr(here, &info) || !info.dli_fname)
        return NA_SUCCESS;
    core = realpath(info.dli_fname, NULL);
    slash = core ? strrchr(core, '/') : NULL;
    if (!slash ||
        asprintf(&path, "%.*s" FOLDER_IN_LIB, (int) (slash - core), core) < 0) {
        free(core);
        return slash ? NA_NOMEM : NA_SUCCESS;
    }
    ret = search_folder(search, TALARIA_SOURCE_BESIDE_CORE, path);
    free(path);
    free(core);
    return ret;
}
#endif

static na_return_t
search_installed(struct plugin_search *search)
{
    const char *paths = base_env_get("TALARIA_PLUGIN_PATH");
    na_return_t ret = NA_SUCCESS;

    if (paths)
        ret = search_list(search, TALARIA_SOURCE_ENV_PATH, paths);
    if (ret == NA_SUCCESS)
        ret = search_folder(search, TALARIA_SOURCE_SYSCONF,
            TALARIA_SYSCONF_DIR FOLDER_IN_SYSCONF);
#ifdef TALARIA_BUILD_SHARED
    if (ret == NA_SUCCESS)
        ret = search_beside_core(search);
#endif
    if (ret == NA_SUCCESS)
        ret = search_folder(search, TALARIA_SOURCE_LIBDIR, TALARIA_PLUGIN_DIR);
    return ret;
}

na_return_t
plugin_search_run(struct plugin_search *search)
{
    const char *files = base_env_get("TALARIA_PLUGIN_FILES");
    na_return_t ret;

    *search = (struct plugin_search){.count = 0};
    ret = search_registered(search);
    if (ret == NA_SUCCESS)
        ret = search_api_paths(search);
    if (ret != NA_SUCCESS)
        return ret;
    search->files_only = files != NULL;
    if (files)
        ret = search_list(search, TALARIA_SOURCE_ENV_FILES, files);
    else
        ret = search_installed(search);
    plugin_search_mark_shadowed(search);
    return ret;
}

void
plugin_search_finish(struct plugin_search *search)
{
    for (size_t i = 0; i < search->count; i++)
        plugin_candidate_destroy(search->candidates[i]);
    for (size_t i = 0; i < search->folder_count; i++)
        free(search->folders[i]);
    free(search->candidates);
    free(search->folders);
    *search = (struct plugin_search){.count = 0};
}

static bool
is_shadowed(const struct plugin_search *search, size_t index)
{
    const char *name = plugin_candidate_name(search->candidates[index]);

    for (size_t i = 0; name && i < index; i++) {
        const char *other = plugin_candidate_name(search->candidates[i]);

        if (other && strcmp(other, name) == 0)
            return true;
    }
    return false;
}

void
plugin_search_mark_shadowed(struct plugin_search *search)
{
    for (size_t i = 0; i < search->count; i++)
        search->candidates[i]->shadowed = is_shadowed(search, i);
}

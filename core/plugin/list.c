/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries that open no plugin: the list of plugins, and the description of a
 * shared object. */
#include "talaria.h"

#include "base/log.h"
#include "plugin/load.h"
#include "plugin/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const source_names[] = {
    [TALARIA_SOURCE_REGISTERED] = "registered",
    [TALARIA_SOURCE_API_PATH] = "api_path",
    [TALARIA_SOURCE_ENV_FILES] = "env_files",
    [TALARIA_SOURCE_ENV_PATH] = "env_path",
    [TALARIA_SOURCE_SYSCONF] = "sysconf",
    [TALARIA_SOURCE_BESIDE_CORE] = "beside_core",
    [TALARIA_SOURCE_LIBDIR] = "libdir",
};

_Static_assert(
    sizeof source_names / sizeof source_names[0] == TALARIA_SOURCE_MAX,
    "every source has a name");

const char *
talaria_source_to_string(enum talaria_source source)
{
    if ((unsigned) source >= TALARIA_SOURCE_MAX)
        return NULL;
    return source_names[source];
}

/* A list refers to the search that it was made from. */
struct list {
    struct talaria_plugin_list list; /* first: what a program gets */
    struct plugin_search search;
    struct talaria_plugin_entry *entries;
    struct talaria_plugin_entry **pointers;
};

static void
fill_entry(struct talaria_plugin_entry *entry,
    const struct plugin_candidate *candidate)
{
    const struct plugin_manifest *manifest = candidate->manifest;

    entry->source = candidate->source;
    entry->stage = candidate->fault.stage;
    entry->code = candidate->fault.code;
    entry->text = candidate->fault.text;
    entry->shadowed = candidate->shadowed;
    entry->library_path = candidate->library_path;
    entry->manifest_path = candidate->from_manifest || !candidate->library_path
                               ? candidate->path
                               : NULL;
    if (!manifest)
        return;
    entry->other_protocols = manifest->other_protocols;
    entry->priority = manifest->priority;
    entry->name = manifest->name;
    entry->version = manifest->version;
    entry->protocols = (const char *const *) manifest->protocols;
    entry->abi_major = manifest->abi_major;
    entry->abi_minor = manifest->abi_minor;
    entry->min_host_minor = manifest->min_host_minor;
}

na_return_t
talaria_plugin_list(struct talaria_plugin_list **list_p)
{
    struct list *list = calloc(1, sizeof *list);
    size_t count;

    base_log_init();
    if (!list)
        return NA_NOMEM;
    if (plugin_search_run(&list->search) != NA_SUCCESS)
        goto free_list;
    count = list->search.count;
    list->entries = calloc(count + 1, sizeof *list->entries);
    list->pointers = calloc(count + 1, sizeof *list->pointers);
    if (!list->entries || !list->pointers)
        goto free_list;
    for (size_t i = 0; i < count; i++) {
        fill_entry(&list->entries[i], list->search.candidates[i]);
        list->pointers[i] = &list->entries[i];
    }
    list->list.count = count;
    list->list.entries = list->pointers;
    *list_p = &list->list;
    return NA_SUCCESS;

free_list:
    talaria_plugin_list_free(&list->list);
    return NA_NOMEM;
}

void
talaria_plugin_list_free(struct talaria_plugin_list *plugin_list)
{
    struct list *list = (struct list *) plugin_list;

    if (!list)
        return;
    plugin_search_finish(&list->search);
    free(list->pointers);
    free(list->entries);
    free(list);
}

static na_return_t
describe(const char *real, const char *path, char **json_p,
    struct plugin_fault *fault)
{
    const char *slash = strrchr(path, '/');
    struct plugin_manifest *manifest;
    char *json;
    na_return_t ret =
        plugin_load_describe(real, slash ? slash + 1 : path, &manifest, fault);

    if (ret != NA_SUCCESS)
        return ret;
    json = plugin_manifest_format(manifest);
    plugin_manifest_destroy(manifest);
    if (!json)
        return plugin_fault_set(fault, TALARIA_STAGE_MANIFEST, NA_NOMEM,
            "out of memory, or the name of the file is not UTF-8");
    *json_p = json;
    return NA_SUCCESS;
}

na_return_t
talaria_plugin_describe(const char *path, char **json_p)
{
    struct plugin_fault fault;
    char *real;
    na_return_t ret;

    base_log_init();
    if (!path || !json_p)
        return NA_INVALID_ARG;
    real = realpath(path, NULL);
    if (real)
        ret = describe(real, path, json_p, &fault);
    else
        ret = plugin_fault_errno(&fault, TALARIA_STAGE_NOT_FOUND, errno, path);
    free(real);
    if (ret != NA_SUCCESS)
        LOG_ERROR(PLUGIN, "%s: %s: %s", path,
            talaria_stage_to_string(fault.stage), fault.text);
    return ret;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* From a shared object to its accepted descriptor. */
#include "plugin/load.h"

#include "base/log.h"
#include "na_plugin.h"
#include "object/object.h"
#include "plugin/descriptor.h"
#include "plugin/manifest.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* A loaded plugin whose descriptor was accepted. */
struct loaded {
    SLIST_ENTRY(loaded) next;
    const struct na_plugin *plugin;
    char *path;
};

/* Held while an object is loaded, so that only one thread loads it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static SLIST_HEAD(, loaded) list = SLIST_HEAD_INITIALIZER(list);

static const char *
last_dlerror(void)
{
    const char *text = dlerror();

    return text ? text : "no reason given";
}

/* Whether an address is the object's own, and how many bytes its symbol has
 * there: 0 if that is not to be learned. */
#ifdef __GLIBC__
static bool
find_symbol(const struct link_map *own, const void *address, size_t *size_p)
{
    struct link_map *map = NULL;
    ElfW(Sym) *symbol = NULL;
    Dl_info info;

    if (!dladdr1(address, &info, (void **) &map, RTLD_DL_LINKMAP) || map != own)
        return false;
    if (dladdr1(address, &info, (void **) &symbol, RTLD_DL_SYMENT) && symbol &&
        info.dli_saddr == address)
        *size_p = symbol->st_size;
    return true;
}
#else
static bool
find_symbol(const struct link_map *own, const void *address, size_t *size_p)
{
    Dl_info info;

    *size_p = 0;
    return dladdr(address, &info) && info.dli_fname && own->l_name &&
           strcmp(info.dli_fname, own->l_name) == 0;
}
#endif

/* The descriptor, and how many bytes of it there are by the symbol table. One
 * that only a dependency of the object has is not the object's: NULL. */
static const struct na_plugin *
find_descriptor(void *object, size_t *mapped_p, struct plugin_fault *fault)
{
    struct link_map *own = NULL;
    const void *address = dlsym(object, NA_PLUGIN_SYMBOL_NAME);
    size_t size = 0;

    if (!address || dlinfo(object, RTLD_DI_LINKMAP, &own) != 0 ||
        !find_symbol(own, address, &size)) {
        plugin_fault_set(fault, TALARIA_STAGE_SYMBOL, NA_NOENTRY,
            "it exports no object " NA_PLUGIN_SYMBOL_NAME
            ": not a plugin of transport ABI %d",
            NA_PLUGIN_ABI_MAJOR);
        return NULL;
    }
    *mapped_p = size > 0 ? size : SIZE_MAX;
    return address;
}

/* A shared object that is open, with its accepted descriptor; false: the fault
 * says why there is none. */
static bool
open_object(const char *path, void **object_p,
    const struct na_plugin **plugin_p, struct plugin_fault *fault)
{
    const struct na_plugin *plugin;
    size_t mapped = 0;
    char why[256];
    void *object;

    if (!object_check(path, why, sizeof why)) {
        plugin_fault_set(
            fault, TALARIA_STAGE_DLOPEN, NA_FAULT, "%s: %s", path, why);
        return false;
    }
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        plugin_fault_set(
            fault, TALARIA_STAGE_DLOPEN, NA_FAULT, "%s", last_dlerror());
        return false;
    }
    plugin = find_descriptor(object, &mapped, fault);
    if (!plugin ||
        plugin_descriptor_check(plugin, mapped, fault) != NA_SUCCESS) {
        dlclose(object);
        return false;
    }
    *object_p = object;
    *plugin_p = plugin;
    return true;
}

static struct loaded *
find_loaded(const char *path)
{
    struct loaded *loaded;

    SLIST_FOREACH (loaded, &list, next)
        if (strcmp(loaded->path, path) == 0)
            return loaded;
    return NULL;
}

/* The object remains loaded: its handle is not kept. */
static na_return_t
add_loaded(const char *path, const struct na_plugin *plugin,
    struct plugin_fault *fault)
{
    struct loaded *loaded = malloc(sizeof *loaded);
    char *copy = strdup(path);

    if (!loaded || !copy) {
        free(loaded);
        free(copy);
        return plugin_fault_set(
            fault, TALARIA_STAGE_DLOPEN, NA_NOMEM, "out of memory");
    }
    loaded->plugin = plugin;
    loaded->path = copy;
    SLIST_INSERT_HEAD(&list, loaded, next);
    return NA_SUCCESS;
}

static na_return_t
load_locked(const char *path, const struct plugin_manifest *manifest,
    const struct na_plugin **plugin_p, struct plugin_fault *fault)
{
    struct loaded *loaded = find_loaded(path);
    const struct na_plugin *plugin;
    void *object;
    na_return_t ret;

    /* Only the name is compared for a loaded plugin: its file and manifest may
     * have been replaced since. */
    if (loaded && strcmp(loaded->plugin->name, manifest->name) == 0) {
        *plugin_p = loaded->plugin;
        return NA_SUCCESS;
    }
    if (loaded)
        return plugin_manifest_compare(manifest, loaded->plugin, fault);
    if (!open_object(path, &object, &plugin, fault))
        return fault->code;
    ret = plugin_manifest_compare(manifest, plugin, fault);
    if (ret == NA_SUCCESS)
        ret = add_loaded(path, plugin, fault);
    if (ret != NA_SUCCESS) {
        dlclose(object);
        return ret;
    }
    LOG_DEBUG(PLUGIN, "loaded plugin %s %s from %s", plugin->name,
        plugin->version, path);
    *plugin_p = plugin;
    return NA_SUCCESS;
}

na_return_t
plugin_load(const char *path, const struct plugin_manifest *manifest,
    const struct na_plugin **plugin_p, struct plugin_fault *fault)
{
    na_return_t ret;

    pthread_mutex_lock(&lock);
    ret = load_locked(path, manifest, plugin_p, fault);
    pthread_mutex_unlock(&lock);
    return ret;
}

na_return_t
plugin_load_describe(const char *path, const char *library_path,
    struct plugin_manifest **manifest_p, struct plugin_fault *fault)
{
    const struct na_plugin *plugin;
    void *object;
    na_return_t ret;

    if (!open_object(path, &object, &plugin, fault))
        return fault->code;
    ret = plugin_manifest_copy(plugin, library_path, manifest_p, fault);
    dlclose(object);
    return ret;
}

const char *
plugin_load_path(const struct na_plugin *plugin)
{
    struct loaded *loaded;
    const char *path = NULL;

    pthread_mutex_lock(&lock);
    SLIST_FOREACH (loaded, &list, next)
        if (loaded->plugin == plugin)
            path = loaded->path;
    pthread_mutex_unlock(&lock);
    return path;
}

void
plugin_load_cleanup(void)
{
    pthread_mutex_lock(&lock);
    while (!SLIST_EMPTY(&list)) {
        struct loaded *loaded = SLIST_FIRST(&list);

        SLIST_REMOVE_HEAD(&list, next);
        free(loaded->path);
        free(loaded);
    }
    pthread_mutex_unlock(&lock);
}

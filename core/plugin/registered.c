/* SPDX-License-Identifier: BSD-3-Clause */
/* Plugins and search folders registered by the program. */
#include "plugin/registered.h"

#include "base/log.h"
#include "na_plugin.h"
#include "plugin/descriptor.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. Each list is NULL-terminated, or NULL while it is empty. */
static const struct na_plugin **plugins;
static size_t plugin_count;
static char **paths;
static size_t path_count;

static na_return_t
add_plugin(const struct na_plugin *plugin)
{
    const struct na_plugin **more;

    for (size_t i = 0; i < plugin_count; i++)
        if (strcmp(plugins[i]->name, plugin->name) == 0)
            return NA_EXIST;
    more = realloc(plugins, (plugin_count + 2) * sizeof *plugins);
    if (!more)
        return NA_NOMEM;
    plugins = more;
    plugins[plugin_count++] = plugin;
    plugins[plugin_count] = NULL;
    return NA_SUCCESS;
}

na_return_t
talaria_plugin_register(const struct na_plugin *plugin)
{
    struct plugin_fault fault;
    na_return_t ret;

    base_log_init();
    if (!plugin) {
        LOG_ERROR(PLUGIN, "a plugin to register is NULL");
        return NA_FAULT;
    }
    ret = plugin_descriptor_check(plugin, SIZE_MAX, &fault);
    if (ret != NA_SUCCESS) {
        LOG_ERROR(PLUGIN, "a plugin cannot be registered: %s", fault.text);
        return ret;
    }
    pthread_mutex_lock(&lock);
    ret = add_plugin(plugin);
    pthread_mutex_unlock(&lock);
    if (ret == NA_EXIST)
        LOG_ERROR(
            PLUGIN, "a plugin \"%s\" is registered already", plugin->name);
    return ret;
}

/* Returns the absolute path, from the current working directory; NULL: out of
 * memory. */
static char *
absolute_path(const char *dir)
{
    char *cwd, *path;

    if (dir[0] == '/')
        return strdup(dir);
    cwd = getcwd(NULL, 0);
    if (!cwd || asprintf(&path, "%s/%s", cwd, dir) < 0)
        path = NULL;
    free(cwd);
    return path;
}

static na_return_t
add_path(char *path)
{
    char **more = realloc(paths, (path_count + 2) * sizeof *paths);

    if (!more)
        return NA_NOMEM;
    paths = more;
    paths[path_count++] = path;
    paths[path_count] = NULL;
    return NA_SUCCESS;
}

na_return_t
talaria_plugin_path_add(const char *dir)
{
    na_return_t ret;
    char *path;

    if (!dir || !*dir || strnlen(dir, PATH_MAX) == PATH_MAX)
        return NA_INVALID_ARG;
    path = absolute_path(dir);
    if (!path)
        return NA_NOMEM;
    pthread_mutex_lock(&lock);
    ret = add_path(path);
    pthread_mutex_unlock(&lock);
    if (ret != NA_SUCCESS)
        free(path);
    return ret;
}

na_return_t
plugin_registered_plugins(const struct na_plugin ***plugins_p)
{
    const struct na_plugin **copy;

    pthread_mutex_lock(&lock);
    copy = calloc(plugin_count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < plugin_count; i++)
        copy[i] = plugins[i];
    pthread_mutex_unlock(&lock);
    if (!copy)
        return NA_NOMEM;
    *plugins_p = copy;
    return NA_SUCCESS;
}

static char **
copy_paths(void)
{
    char **copy = calloc(path_count + 1, sizeof *copy);

    for (size_t i = 0; copy && i < path_count; i++) {
        copy[i] = strdup(paths[i]);
        if (!copy[i]) {
            plugin_registered_paths_free(copy);
            return NULL;
        }
    }
    return copy;
}

na_return_t
plugin_registered_paths(char ***paths_p)
{
    char **copy;

    pthread_mutex_lock(&lock);
    copy = copy_paths();
    pthread_mutex_unlock(&lock);
    if (!copy)
        return NA_NOMEM;
    *paths_p = copy;
    return NA_SUCCESS;
}

void
plugin_registered_paths_free(char **list)
{
    for (char **p = list; p && *p; p++)
        free(*p);
    free(list);
}

void
plugin_registered_cleanup(void)
{
    pthread_mutex_lock(&lock);
    free(plugins);
    plugins = NULL;
    plugin_count = 0;
    plugin_registered_paths_free(paths);
    paths = NULL;
    path_count = 0;
    pthread_mutex_unlock(&lock);
}

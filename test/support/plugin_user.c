/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads a plugin as the core would, and uses it. */
#include "plugin_user.h"

#include "setting/setting.h"

#include <check.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * UINT64_C(1000000000) +
           (uint64_t) now.tv_nsec;
}

/* the last plugin loaded */
static const na_plugin *loaded;

const na_plugin *
plugin_load(const char *variable)
{
    const char *path = getenv(variable);
    void *object = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const na_plugin *plugin =
        object ? dlsym(object, NA_PLUGIN_SYMBOL_NAME) : NULL;

    if (!plugin) {
        fprintf(stderr, "%s: %s\n", variable, path ? dlerror() : "not set");
        exit(EXIT_FAILURE);
    }
    loaded = plugin;
    return plugin;
}

uint64_t
plugin_setting(const na_plugin *plugin, const char *key, const char *set_key,
    const char *set_value)
{
    for (size_t i = 0; plugin->settings && plugin->settings[i]; i++) {
        const na_plugin_setting *setting = plugin->settings[i];
        const char *text = setting->initial;
        uint64_t number;

        if (strcmp(setting->key, key) != 0)
            continue;
        if (set_key && set_value && strcmp(key, set_key) == 0)
            text = set_value;
        if (setting_parse(setting, text, &number))
            return number;
        fprintf(stderr, "%s=%s: invalid value\n", key, text);
        exit(EXIT_FAILURE);
    }
    fprintf(stderr, "%s: no such setting\n", key);
    exit(EXIT_FAILURE);
}

static uint64_t
initial_number(const na_plugin_host *host, const char *key)
{
    return plugin_setting(loaded, key, NULL, NULL);
}

static const char *
no_text(const na_plugin_host *host, const char *key)
{
    ck_abort_msg("setting %s was read as text", key);
}

static void
ignore_wake(const na_plugin_host *host, void *core_ctx)
{
}

static const void *
no_extension(const na_plugin_host *host, const char *id)
{
    return NULL;
}

void
plugin_host(na_plugin_host *host, void *priv, const int32_t *log_level,
    plugin_log_t log)
{
    *host = (na_plugin_host){.size = sizeof *host,
        .abi_major = NA_PLUGIN_ABI_MAJOR,
        .abi_minor = NA_PLUGIN_ABI_MINOR,
        .priv = priv,
        .log_level = log_level,
        .log = log,
        .number = initial_number,
        .text = no_text,
        .wake = ignore_wake,
        .extension = no_extension};
}

void *
plugin_op(const na_plugin_opened *opened)
{
    size_t align = opened->op_align;
    size_t size = (opened->op_size + align - 1) / align * align;
    void *op = aligned_alloc(align, size);

    ck_assert_ptr_nonnull(op);
    memset(op, 0, size);
    return op;
}

void
plugin_self(
    const na_plugin_ops *ops, na_plugin_class *cls, char *text, uint64_t size)
{
    na_plugin_addr *self;

    ck_assert_int_eq(ops->addr_self(cls, &self), NA_PLUGIN_OK);
    ck_assert_int_eq(ops->addr_to_string(cls, self, text, &size), NA_PLUGIN_OK);
    ops->addr_free(cls, self);
}

na_plugin_addr *
plugin_lookup(const na_plugin_ops *ops, na_plugin_class *cls, const char *text)
{
    na_plugin_addr *addr;

    ck_assert_int_eq(ops->addr_lookup(cls, text, &addr), NA_PLUGIN_OK);
    return addr;
}

static bool
find_entry(const na_plugin_ops *ops, na_plugin_class *cls, const char *name,
    na_plugin_report_entry *entry)
{
    const na_plugin_report *report = ops->extension(cls, NA_PLUGIN_REPORT_ID);

    for (uint32_t i = 0; report->entries(cls, i, entry, 1) == 1; i++)
        if (strcmp(entry->name, name) == 0)
            return true;
    return false;
}

uint64_t
plugin_counter(const na_plugin_ops *ops, na_plugin_class *cls, const char *name)
{
    na_plugin_report_entry entry;

    if (!find_entry(ops, cls, name, &entry))
        ck_abort_msg("no counter %s", name);
    return entry.value;
}

const char *
plugin_text(const na_plugin_ops *ops, na_plugin_class *cls, const char *name)
{
    na_plugin_report_entry entry;

    return find_entry(ops, cls, name, &entry) ? entry.text : "";
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that the core offers to a plugin: one host table per class. */
#include "na/class.h"

#include "base/log.h"
#include "na/context.h"
#include "na/progress.h"
#include "na/violation.h"

#include <stdlib.h>
#include <string.h>

static void
host_log(const na_plugin_host *host, int32_t level, const char *file,
    uint32_t line, const char *text)
{
    struct na_class *na_class = host ? host->priv : NULL;

    if (!na_class)
        return;
    if (!text || level < NA_PLUGIN_LOG_ERROR || level > NA_PLUGIN_LOG_DEBUG) {
        na_violation(na_class, "log is called with %s%d",
            text ? "level " : "text NULL, level ", level);
        return;
    }
    /* Only one thread uses the class while it is being opened. */
    if (level == NA_PLUGIN_LOG_ERROR && !na_class->plugin_class) {
        free(na_class->open_error);
        na_class->open_error = strdup(text);
    }
    if (base_log_wanted(level))
        base_log_text(BASE_LOG_TRANSPORT, level, file ? file : "?", line, text);
}

/* Returns NULL, after a log line, if the plugin has no such setting. */
static const struct setting_value *
find_setting(const na_plugin_host *host, const char *entry, const char *key)
{
    struct na_class *na_class = host ? host->priv : NULL;
    const struct setting_value *value;

    if (!na_class)
        return NULL;
    value = key ? setting_values_find(&na_class->settings, key) : NULL;
    if (!value)
        na_violation(na_class,
            "%s is called with key %.64s, which it does "
            "not list",
            entry, key ? key : "NULL");
    return value;
}

static uint64_t
host_number(const na_plugin_host *host, const char *key)
{
    const struct setting_value *value = find_setting(host, "number", key);

    return value ? value->number : 0;
}

static const char *
host_text(const na_plugin_host *host, const char *key)
{
    const struct setting_value *value = find_setting(host, "text", key);

    return value ? value->text : "";
}

static void
host_wake(const na_plugin_host *host, void *core_ctx)
{
    struct na_context *context = core_ctx;

    if (!context) {
        if (host && host->priv)
            na_violation(host->priv, "wake is called with core_ctx NULL");
        return;
    }
    na_progress_notify(context->progress);
}

static const void *
host_extension(const na_plugin_host *host, const char *id)
{
    return NULL;
}

void
na_host_init(struct na_class *na_class)
{
    na_class->host = (na_plugin_host){
        .size = sizeof(na_plugin_host),
        .abi_major = NA_PLUGIN_ABI_MAJOR,
        .abi_minor = NA_PLUGIN_ABI_MINOR,
        .priv = na_class,
        .log_level = &base_log_gate,
        .log = host_log,
        .number = host_number,
        .text = host_text,
        .wake = host_wake,
        .extension = host_extension,
    };
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the core gives to a plugin: one host table per class. */
#include "na/class.h"

#include "base/env.h"
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
    /* Until the class is there, one thread alone opens it. */
    if (level == NA_PLUGIN_LOG_ERROR && !na_class->plugin_class) {
        free(na_class->open_error);
        na_class->open_error = strdup(text);
    }
    if (base_log_wanted(level))
        base_log_text(BASE_LOG_TRANSPORT, level, file ? file : "?", line, text);
}

static const char *
host_config(const na_plugin_host *host, const char *key)
{
    return key ? base_env_plugin_setting(key) : NULL;
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
        .config = host_config,
        .wake = host_wake,
        .extension = host_extension,
    };
}

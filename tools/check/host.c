/* SPDX-License-Identifier: BSD-3-Clause */
/* The kit's na_plugin_host. */
#include "check/host.h"

#include "check/setting.h"
#include "check/shared.h"

#include <string.h>

#define BEYOND_BYTE 0x5A

/* Of this thread: whether it is on the path of a message, and the context of
 * its poll or arm. */
static _Thread_local bool on_path;
static _Thread_local const void *polling;

void
kit_host_path_enter(const void *core_ctx)
{
    on_path = true;
    polling = core_ctx;
}

void
kit_host_path_leave(void)
{
    on_path = false;
    polling = NULL;
}

static struct kit_class *
class_of(const na_plugin_host *host)
{
    struct kit_class *cls;

    /* The host of another or closed class has another priv. */
    if (!host || !host->priv)
        kit_fail(2, "host functions are called with the class's own host",
            "one was called with %s", host ? "a spoiled one" : "NULL");
    cls = host->priv;
    kit_expect(&cls->host.table == host, 2,
        "host functions are called with the class's own host",
        "one was called with a copy, or with that of another class");
    return cls;
}

static void
on_log(const na_plugin_host *host, int32_t level, const char *file,
    uint32_t line, const char *text)
{
    struct kit_class *cls = class_of(host);

    kit_expect(file && text, 12, "log gets a file and a text", "NULL");
    kit_expect(level > NA_PLUGIN_LOG_NONE && level <= NA_PLUGIN_LOG_DEBUG, 12,
        "log gets a level of the header's", "%d", level);
    kit_expect(!strchr(text, '\n'), 12, "log gets one line without its end",
        "\"%.200s\"", text);
    if (level == NA_PLUGIN_LOG_ERROR)
        atomic_fetch_add_explicit(&cls->errors, 1, memory_order_relaxed);
    kit_shared_log(level, text);
}

/* Returns the value of a setting. */
static const na_plugin_setting *
asked_for(const na_plugin_host *host, const char *entry, const char *key)
{
    const struct kit_class *cls = class_of(host);
    const na_plugin_setting *setting =
        key ? kit_setting_find(cls->plugin, key) : NULL;

    kit_expect(!on_path, 8,
        "on the path of a message only log and wake "
        "are called",
        "%s(\"%.64s\") was", entry, key ? key : "(NULL)");
    kit_expect(setting, 12, "a plugin asks for settings of its own list only",
        "%s(\"%.64s\")", entry, key ? key : "(NULL)");
    return setting;
}

static uint64_t
on_number(const na_plugin_host *host, const char *key)
{
    return kit_setting_number(asked_for(host, "number", key));
}

static const char *
on_text(const na_plugin_host *host, const char *key)
{
    return kit_setting_text(asked_for(host, "text", key));
}

static void
on_wake(const na_plugin_host *host, void *core_ctx)
{
    struct kit_class *cls = class_of(host);
    _Atomic uint32_t *counter = core_ctx;

    kit_expect(counter >= cls->wakes && counter < cls->wakes + KIT_CONTEXTS, 12,
        "wake gets a core_ctx of the class", "%p", core_ctx);
    kit_expect(!atomic_load_explicit(
                   &cls->destroyed[counter - cls->wakes], memory_order_relaxed),
        10, "wake is not called for a context that was destroyed", "it was");
    kit_expect(!polling || polling != core_ctx, 8,
        "wake is not called within poll or arm of that context", "it was");
    atomic_fetch_add_explicit(counter, 1, memory_order_release);
    kit_sleep_interrupt(cls, (uint32_t) (counter - cls->wakes));
}

static const void *
on_extension(const na_plugin_host *host, const char *id)
{
    class_of(host);
    kit_expect(!on_path, 8,
        "on the path of a message only log and wake "
        "are called",
        "extension(\"%.64s\") was", id ? id : "(NULL)");
    kit_expect(id != NULL, 12, "extension gets an id", "NULL");
    return NULL;
}

static uint32_t
host_size(const struct kit_class *cls)
{
    return cls->tables_1_0 ? NA_PLUGIN_HOST_SIZE_1_0 : sizeof cls->host;
}

void
kit_host_init(struct kit_class *cls)
{
    na_plugin_host *table = &cls->host.table;

    cls->log_level = NA_PLUGIN_LOG_INFO;
    *table = (na_plugin_host){
        .size = cls->tables_1_0 ? NA_PLUGIN_HOST_SIZE_1_0 : sizeof cls->host,
        .abi_major = NA_PLUGIN_ABI_MAJOR,
        .abi_minor = NA_PLUGIN_ABI_MINOR,
        .priv = cls,
        .log_level = &cls->log_level,
        .log = on_log,
        .number = on_number,
        .text = on_text,
        .wake = on_wake,
        .extension = on_extension};
    memset(cls->host.beyond, BEYOND_BYTE, sizeof cls->host.beyond);
    kit_sleep_init(cls);
}

void
kit_host_verify(const struct kit_class *cls)
{
    bool same = true;

    for (size_t i = 0; i < sizeof cls->host.beyond; i++)
        same = same && cls->host.beyond[i] == BEYOND_BYTE;
    kit_expect(same && cls->host.table.size == host_size(cls) &&
                   cls->host.table.log == on_log && cls->host.table.priv == cls,
        4, "the host's table is only read", "it was written to");
}

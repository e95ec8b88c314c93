/* SPDX-License-Identifier: BSD-3-Clause */
/* From a path to a plugin's table; from an info string to its parts. */
#include "check/target.h"

#include "check/setting.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct kit_target kit_target = {.port = -1};

/* "host:port", "[v6]:port", "device/host:port". */
bool
kit_target_split(struct kit_target *target)
{
    char *rest = strdup(target->name);
    char *slash, *colon, *end;

    if (!rest)
        return false;
    slash = strchr(rest, '/');
    if (slash) {
        *slash = '\0';
        target->device = rest;
        rest = strdup(slash + 1);
        if (!rest)
            return false;
    }
    end = *rest == '[' ? strchr(rest, ']') : NULL;
    if (*rest == '[' && !end) {
        free(rest);
        return false;
    }
    colon = strrchr(end ? end : rest, ':');
    if (colon) {
        char *tail;
        long port = strtol(colon + 1, &tail, 10);

        if (*tail || tail == colon + 1 || port < 0 || port > 65535) {
            free(rest);
            return false;
        }
        target->port = (int32_t) port;
        *colon = '\0';
    }
    if (end) {
        *end = '\0';
        memmove(rest, rest + 1, strlen(rest));
    }
    if (*rest)
        target->host = rest;
    else
        free(rest);
    return true;
}

bool
kit_target_parse(struct kit_target *target, const char *info)
{
    const char *plus = strchr(info, '+');
    const char *tail = strstr(info, "://");
    const char *protocol = info;
    size_t length;

    if (plus && (!tail || plus < tail))
        protocol = plus + 1;
    length = tail ? (size_t) (tail - protocol) : strlen(protocol);
    if (length == 0)
        return false;
    target->protocol = strndup(protocol, length);
    if (!target->protocol)
        return false;
    if (!tail || tail[3] == '\0')
        return true;
    target->name = strdup(tail + 3);
    return target->name != NULL;
}

const na_plugin *
kit_target_load(void)
{
    static const na_plugin *table;
    void *object;

    if (table)
        return table;
    object = dlopen(kit_target.path, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        kit_fail(2, "the object loads", "%s", dlerror());
    table = dlsym(object, NA_PLUGIN_SYMBOL_NAME);
    if (!table)
        kit_fail(2, "the object has the symbol " NA_PLUGIN_SYMBOL_NAME, "%s",
            dlerror());
    if (table->magic != NA_PLUGIN_MAGIC ||
        table->abi_major != NA_PLUGIN_ABI_MAJOR ||
        table->size < NA_PLUGIN_SIZE_1_0)
        kit_fail(3, "magic, major and size that this kit supports",
            "magic %#x, major %u, size %u", table->magic,
            (unsigned) table->abi_major, table->size);
    if (!table->name || !table->protocols || !table->open || !table->close)
        kit_fail(3, "name, protocols, open and close", "one of them is NULL");
    if (!kit_target.protocol) {
        if (!table->protocols[0])
            kit_not_run("the plugin lists no protocol; name one");
        kit_target.protocol = strdup(table->protocols[0]);
        if (!kit_target.protocol)
            kit_not_run("out of memory");
    }
    if (kit_target.name && !(table->flags & NA_PLUGIN_OPAQUE_NAME) &&
        !kit_target.host && !kit_target.device &&
        !kit_target_split(&kit_target))
        kit_not_run("\"%s\" is not device/host:port", kit_target.name);
    kit_settings_given(table);
    return table;
}

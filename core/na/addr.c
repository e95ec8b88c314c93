/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of the NA interface. An address is the plugin's object itself: the
 * core only counts the references of users. */
#include "na/addr.h"

#include "na.h"
#include "na/call.h"
#include "na/class.h"
#include "na/peer.h"
#include "na/violation.h"

#include "base/error.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

static void
addr_counted(struct na_class *na_class, uint32_t change)
{
    atomic_fetch_add_explicit(
        &na_class->addr_count, change, memory_order_relaxed);
}

void
na_addr_given(struct na_class *na_class)
{
    addr_counted(na_class, 1);
}

/* Returns the address without "plugin+", as a plugin's lookup takes it, or NULL
 * if it is for another plugin. */
static const char *
name_for_plugin(const struct na_class *na_class, const char *name)
{
    const char *plugin = na_class->plugin->name;
    size_t scheme = strcspn(name, ":");
    const char *plus = memchr(name, '+', scheme);

    if (!plus)
        return name;
    if ((size_t) (plus - name) == strlen(plugin) &&
        memcmp(name, plugin, strlen(plugin)) == 0)
        return plus + 1;
    return NULL;
}

na_return_t
na_addr_lookup(
    struct na_class *na_class, const char *name, na_plugin_addr **addr_p)
{
    const char *rest = name_for_plugin(na_class, name), *scheme;
    na_return_t ret;

    /* The prefix of Mercury's addresses with auto_sm. */
    if (strncmp(name, "uid://", 6) == 0) {
        LOG_ERROR(NA,
            "\"%s\" is an address of a process that uses Mercury: it does not "
            "speak Talaria's protocol",
            name);
        return NA_PROTONOSUPPORT;
    }
    scheme = strstr(name, "://");
    if (!scheme) {
        LOG_ERROR(NA,
            "\"%s\" is not an address: it has no ://; the peer's "
            "HG_Addr_to_string gives its address",
            name);
        return NA_INVALID_ARG;
    }
    if (!rest) {
        LOG_ERROR(NA,
            "\"%s\" is not an address of %s+%s: a class opened with \"%.*s\" "
            "can call it",
            name, na_class->plugin->name, na_class->protocol,
            (int) (scheme - name), name);
        return NA_PROTONOSUPPORT;
    }
    *addr_p = NULL;
    ret = na_result(na_class, "addr_lookup",
        na_class->ops.addr_lookup(na_class->plugin_class, rest, addr_p));
    if (ret != NA_SUCCESS || *addr_p)
        return ret;
    na_violation(na_class, "addr_lookup returned OK and NULL");
    return NA_PROTOCOL_ERROR;
}

na_return_t
na_addr_to_string(struct na_class *na_class, const na_plugin_addr *addr,
    char *buf, size_t *buf_size_p)
{
    const char *plugin = na_class->plugin->name;
    size_t front = strlen(plugin) + 1, needed;
    uint64_t size = 0;
    na_return_t ret = na_addr_text(na_class, addr, NULL, &size);

    if (ret != NA_SUCCESS)
        return ret;
    needed = front + size;
    if (buf && *buf_size_p >= needed) {
        memcpy(buf, plugin, front - 1);
        buf[front - 1] = '+';
        ret = na_addr_text(na_class, addr, buf + front, &size);
    } else if (buf) {
        ret = NA_OVERFLOW;
    }
    *buf_size_p = needed;
    return ret;
}

struct na_peer_name *
na_peer_name_create(const char *text)
{
    size_t size = strlen(text) + 1;
    struct na_peer_name *name = malloc(sizeof *name + size);

    if (!name)
        return NULL;
    atomic_init(&name->refs, 1);
    memcpy(name->text, text, size);
    return name;
}

void
na_peer_name_release(struct na_peer_name *name)
{
    /* Release and acquire: uses of the text come before it is freed. */
    if (atomic_fetch_sub_explicit(&name->refs, 1, memory_order_acq_rel) == 1)
        free(name);
}

bool
na_addr_is_for(const struct na_class *na_class, const char *name)
{
    const char *rest = name_for_plugin(na_class, name);

    return rest && rest != name;
}

na_return_t
NA_Addr_lookup(na_class_t *na_class, const char *name, na_addr_t **addr_p)
{
    na_plugin_addr *addr;
    na_return_t ret;

    if (!na_class || !name || !addr_p)
        return NA_INVALID_ARG;
    ret = na_addr_lookup(na_class, name, &addr);
    if (ret != NA_SUCCESS)
        return ret;
    addr_counted(na_class, 1);
    *addr_p = na_addr_public(addr);
    return NA_SUCCESS;
}

na_return_t
NA_Addr_free(na_class_t *na_class, na_addr_t *addr)
{
    if (!addr)
        return NA_SUCCESS;
    if (!na_class)
        return NA_INVALID_ARG;
    na_addr_free(na_class, na_addr_plugin(addr));
    addr_counted(na_class, UINT32_MAX);
    return NA_SUCCESS;
}

na_return_t
NA_Addr_set_remove(na_class_t *na_class, na_addr_t *addr)
{
    if (!na_class || !addr)
        return NA_INVALID_ARG;
    na_addr_forget(na_class, na_addr_plugin(addr));
    return NA_SUCCESS;
}

na_return_t
NA_Addr_self(na_class_t *na_class, na_addr_t **addr_p)
{
    na_plugin_addr *addr;
    na_return_t ret;

    if (!na_class || !addr_p)
        return NA_INVALID_ARG;
    ret = na_addr_own(na_class, &addr);
    if (ret != NA_SUCCESS)
        return ret;
    addr_counted(na_class, 1);
    *addr_p = na_addr_public(addr);
    return NA_SUCCESS;
}

na_return_t
NA_Addr_dup(na_class_t *na_class, na_addr_t *addr, na_addr_t **new_addr_p)
{
    if (!na_class || !addr || !new_addr_p)
        return NA_INVALID_ARG;
    na_addr_dup(na_class, na_addr_plugin(addr));
    addr_counted(na_class, 1);
    *new_addr_p = addr;
    return NA_SUCCESS;
}

bool
NA_Addr_cmp(na_class_t *na_class, na_addr_t *addr1, na_addr_t *addr2)
{
    if (!na_class || !addr1 || !addr2)
        return false;
    return na_addr_same(na_class, na_addr_plugin(addr1), na_addr_plugin(addr2));
}

bool
NA_Addr_is_self(na_class_t *na_class, na_addr_t *addr)
{
    na_plugin_addr *self;
    bool equal;

    if (!na_class || !addr || na_addr_own(na_class, &self) != NA_SUCCESS)
        return false;
    equal = na_addr_same(na_class, na_addr_plugin(addr), self);
    na_addr_free(na_class, self);
    return equal;
}

na_return_t
NA_Addr_to_string(
    na_class_t *na_class, char *buf, size_t *buf_size, na_addr_t *addr)
{
    if (!na_class || !buf_size || !addr)
        return NA_INVALID_ARG;
    return na_addr_to_string(na_class, na_addr_plugin(addr), buf, buf_size);
}

size_t
NA_Addr_get_serialize_size(na_class_t *na_class, na_addr_t *addr)
{
    uint64_t size = 0;

    if (!na_class || !addr ||
        na_addr_serialize(na_class, na_addr_plugin(addr), NULL, &size) !=
            NA_SUCCESS)
        return 0;
    return size;
}

na_return_t
NA_Addr_serialize(
    na_class_t *na_class, void *buf, size_t buf_size, na_addr_t *addr)
{
    uint64_t size = buf_size;

    if (!na_class || !buf || !addr)
        return NA_INVALID_ARG;
    return na_addr_serialize(na_class, na_addr_plugin(addr), buf, &size);
}

na_return_t
NA_Addr_deserialize(na_class_t *na_class, na_addr_t **addr_p, const void *buf,
    size_t buf_size, uint64_t flags)
{
    na_plugin_addr *addr;
    na_return_t ret;

    if (!na_class || !addr_p || !buf)
        return NA_INVALID_ARG;
    ret = na_addr_deserialize(na_class, buf, buf_size, &addr);
    if (ret != NA_SUCCESS)
        return ret;
    addr_counted(na_class, 1);
    *addr_p = na_addr_public(addr);
    return NA_SUCCESS;
}

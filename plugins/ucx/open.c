/* SPDX-License-Identifier: BSD-3-Clause */
/* Building a class, and tearing it down, which nothing else does. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "close.h"
#include "common/host.h"
#include "common/open.h"
#include "context.h"
#include "exposure.h"
#include "key.h"
#include "library.h"
#include "listener.h"
#include "mem.h"
#include "open.h"
#include "tx.h"

#define WINDOW_MESSAGES 4 /* that it has room for, at least */

/* Sizes, settings, and what the info string says of transports and devices. */
static int32_t
configure(na_plugin_class *cls, const na_plugin_open_info *info)
{
    const na_plugin_host *host = cls->host;
    uint64_t window = host->number(host, "ucx.window");

    cls->max_unexpected = tp_open_message_size(host, info->max_unexpected_size,
        UCX_MESSAGE_DEFAULT, UCX_MESSAGE_MAX, "unexpected");
    cls->max_expected = tp_open_message_size(host, info->max_expected_size,
        UCX_MESSAGE_DEFAULT, UCX_MESSAGE_MAX, "expected");
    cls->window = WINDOW_MESSAGES * ucx_cost(cls->max_unexpected);
    if (cls->window < window)
        cls->window = window;
    cls->connect_ns = host->number(host, "ucx.connect_timeout");
    cls->host_ns = host->number(host, "ucx.host_timeout");
    cls->send_ns = host->number(host, "ucx.send_timeout");
    cls->network_trusted = host->number(host, "ucx.trusted_network") != 0;
    cls->listens = (info->flags & NA_PLUGIN_OPEN_LISTEN) != 0;
    cls->no_block = (info->flags & NA_PLUGIN_OPEN_NO_BLOCK) != 0;
    cls->single = (info->thread_mode & NA_PLUGIN_THREAD_SINGLE_CLASS) != 0;
    snprintf(cls->protocol, sizeof(cls->protocol), "%s", info->protocol);
    if (strcmp(info->protocol, "all") != 0)
        snprintf(cls->tls, sizeof(cls->tls), "%s", info->protocol);
    cls->keys = strcmp(cls->tls, "tcp") != 0;
    if (info->device != NULL) {
        int n =
            snprintf(cls->devices, sizeof(cls->devices), "%s", info->device);
        if (n < 0 || (size_t) n >= sizeof(cls->devices)) {
            TP_LOG(cls->host, ERROR, "no device has a name like \"%.100s\"",
                info->device);
            return NA_PLUGIN_E_NODEV;
        }
    }
    return NA_PLUGIN_OK;
}

/* A number that no other class has. */
static int32_t
draw_number(na_plugin_class *cls)
{
    if (tp_random_draw(&cls->random, &cls->number))
        return NA_PLUGIN_OK;
    TP_LOG(cls->host, ERROR, "no random number: %s", strerror(errno));
    return NA_PLUGIN_E_IO_ERROR;
}

/* Where the class is to be, which decides the family of its addresses too. One
 * that doesn't listen need not be anywhere. */
static int32_t
find_place(na_plugin_class *cls, const na_plugin_open_info *info,
    struct tp_place *where_p)
{
    struct tp_place where = {.length = 0};
    int family = info->addr_format == NA_PLUGIN_ADDR_IPV6   ? AF_INET6
                 : info->addr_format == NA_PLUGIN_ADDR_IPV4 ? AF_INET
                                                            : AF_UNSPEC;
    const char *host = info->host;

    if (host == NULL && info->device != NULL && tp_host_interface(info->device))
        host = info->device;
    cls->family = family == AF_INET6 ? AF_INET6 : AF_INET;
    if (!cls->listens && host == NULL)
        return NA_PLUGIN_OK;
    int32_t ret =
        tp_host_own(cls->host, host, info->port > 0 ? (uint32_t) info->port : 0,
            family, info->ip_subnet, &where);
    if (ret != NA_PLUGIN_OK)
        return ret;
    cls->family = where.address.ss_family;
    *where_p = where;
    return NA_PLUGIN_OK;
}

/* Listens, and makes the address of a class; of one that doesn't listen,
 * without a name. */
static int32_t
take_address(na_plugin_class *cls, const na_plugin_open_info *info,
    struct tp_place *where)
{
    char name[UCX_NAME_MAX + 1] = "";

    if (cls->listens) {
        int32_t ret = ucx_listener_open(cls, where);
        if (ret != NA_PLUGIN_OK)
            return ret;
        tp_host_reach(where, info->ip_subnet);
        int n = snprintf(name, sizeof(name), "%s://", cls->protocol);
        if (!tp_host_text(
                &where->address, name + n, sizeof(name) - (size_t) n)) {
            TP_LOG(cls->host, ERROR, "the own address has no numeric form");
            return NA_PLUGIN_E_ADDRNOTAVAIL;
        }
    }
    cls->self = cls->listens
                    ? ucx_addr_get(cls, name, &where->address, where->length)
                    : ucx_addr_make(cls, name);
    if (cls->self == NULL)
        return NA_PLUGIN_E_NOMEM;
    cls->name = cls->self->name;
    return NA_PLUGIN_OK;
}

void
ucx_class_destroy(na_plugin_class *cls)
{
    for (uint32_t i = 0; i < UCX_CONTEXTS; i++)
        if (cls->contexts[i] != NULL)
            ucx_ctx_destroy(cls->contexts[i]);
    tp_mutex_take(&cls->lock);
    if (cls->worker != NULL)
        ucx_close(cls);
    uint32_t mems = ucx_mem_fini(cls);
    ucx_key_fini(cls);
    ucx_library_close(cls);
    struct tp_link *link;
    while ((link = tp_list_pop(&cls->closed)) != NULL)
        free(ucx_conn_of(link));
    if (cls->self != NULL)
        ucx_addr_release(cls, cls->self);
    ucx_tx_fini(cls);
    tp_mutex_drop(&cls->lock);
    if (cls->addrs != 0 || mems != 0)
        TP_LOG(cls->host, WARNING,
            "closed with %" PRIu32 " addresses and %" PRIu32
            " registrations left",
            cls->addrs, mems);
    ucx_peers_fini(cls);
    tp_table_fini(&cls->names);
    tp_table_fini(&cls->tokens);
    free(cls);
}

/* Builds a class; what was built of one that fails is the caller's to
 * destroy. */
static int32_t
build(na_plugin_class *cls, const na_plugin_open_info *info)
{
    int32_t ret = configure(cls, info);
    if (ret != NA_PLUGIN_OK)
        return ret;
    tp_mutex_init(&cls->lock, cls->single);
    ret = draw_number(cls);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (tp_table_init(&cls->names) != NA_PLUGIN_OK ||
        tp_table_init(&cls->peers) != NA_PLUGIN_OK ||
        tp_table_init(&cls->mems) != NA_PLUGIN_OK ||
        tp_table_init(&cls->tokens) != NA_PLUGIN_OK) {
        TP_LOG(cls->host, ERROR, "no memory for a class");
        return NA_PLUGIN_E_NOMEM;
    }
    struct tp_place where = {.length = 0};
    ret = find_place(cls, info, &where);
    if (ret != NA_PLUGIN_OK)
        return ret;
    ucx_exposure_restrict(cls, &where);
    ret = ucx_library_open(cls);
    if (ret == NA_PLUGIN_OK)
        ret = take_address(cls, info, &where);
    if (ret == NA_PLUGIN_OK)
        ucx_exposure_warn(cls);
    return ret;
}

int32_t
ucx_class_new(const na_plugin_host *host, const na_plugin_open_info *info,
    na_plugin_class **cls_p)
{
    na_plugin_class *cls = tp_alloc_lines(sizeof(*cls));
    if (cls == NULL) {
        TP_LOG(host, ERROR, "no memory for a class");
        return NA_PLUGIN_E_NOMEM;
    }
    cls->host = host;
    cls->worker_fd = -1;
    cls->first_ns = UINT64_MAX;
    cls->version = ucp_get_version_string();
    int32_t ret = build(cls, info);
    if (ret != NA_PLUGIN_OK) {
        ucx_class_destroy(cls);
        return ret;
    }
    *cls_p = cls;
    return NA_PLUGIN_OK;
}

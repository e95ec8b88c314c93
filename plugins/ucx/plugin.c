/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin's one symbol, its tables of operations, and opening and closing a
 * class. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "class_settings.h"
#include "context.h"
#include "exposure.h"
#include "farewell.h"
#include "key.h"
#include "library.h"
#include "mem.h"
#include "parcel.h"
#include "peer.h"
#include "progress.h"
#include "receive.h"
#include "report.h"
#include "rma.h"
#include "send.h"
#include "wait.h"
#include "where.h"

#define FLAGS_KNOWN                                                            \
    (NA_PLUGIN_OPEN_LISTEN | NA_PLUGIN_OPEN_NO_BLOCK |                         \
        NA_PLUGIN_OPEN_NO_RETRY | NA_PLUGIN_OPEN_MEM_DEVICE)
#define WINDOW_MESSAGES 4 /* that it has room for, at least */

static const char *const protocols[] = {"all", "tcp", "rc", "ud", "dc", NULL};

static int32_t
buf_alloc(na_plugin_class *cls, uint64_t length, uint32_t kinds,
    void **buffer_p, void **buffer_data_p)
{
    if (length > SIZE_MAX - 64)
        return NA_PLUGIN_E_NOMEM;
    void *buffer = aligned_alloc(64, (length + 64) & ~(uint64_t) 63);
    if (buffer == NULL)
        return NA_PLUGIN_E_NOMEM;
    *buffer_p = buffer;
    *buffer_data_p = NULL;
    return NA_PLUGIN_OK;
}

static void
buf_free(na_plugin_class *cls, void *buffer, void *buffer_data)
{
    free(buffer);
}

static int32_t
buf_init(na_plugin_class *cls, void *buffer, uint64_t length, uint32_t kind)
{
    return NA_PLUGIN_OK; /* the header travels beside it */
}

static const void *
extension(na_plugin_class *cls, const char *id)
{
    if (strcmp(id, NA_PLUGIN_WAIT_ID) == 0)
        return cls->worker_fd >= 0 ? &ucx_wait : NULL;
    if (strcmp(id, NA_PLUGIN_REPORT_ID) == 0)
        return &ucx_report;
    if (strcmp(id, NA_PLUGIN_MEM_ALLOC_ID) == 0)
        return cls->keys ? &ucx_mem_alloc : NULL;
    return NULL;
}

static const na_plugin_ops ops = {
    .size = sizeof(ops),
    .ctx_create = ucx_ctx_create,
    .ctx_destroy = ucx_ctx_destroy,
    .addr_self = ucx_addr_self,
    .addr_lookup = ucx_addr_lookup,
    .addr_dup = ucx_addr_dup,
    .addr_free = ucx_addr_free,
    .addr_equal = ucx_addr_equal,
    .addr_hash = ucx_addr_hash,
    .addr_to_string = ucx_addr_to_string,
    .addr_serialize = ucx_addr_serialize,
    .addr_deserialize = ucx_addr_deserialize,
    .addr_forget = ucx_addr_forget,
    .buf_alloc = buf_alloc,
    .buf_free = buf_free,
    .buf_init = buf_init,
    .send_unexpected = ucx_send_unexpected,
    .recv_unexpected = ucx_recv_unexpected,
    .send_expected = ucx_send_expected,
    .recv_expected = ucx_recv_expected,
    .mem_register = ucx_mem_register,
    .mem_deregister = ucx_mem_deregister,
    .mem_serialize = ucx_mem_serialize,
    .mem_deserialize = ucx_mem_deserialize,
    .mem_remote_free = ucx_mem_free,
    .put = ucx_put,
    .get = ucx_get,
    .poll = ucx_poll,
    .cancel = ucx_cancel,
    .extension = extension,
};

/* A protocol is "all", or a list of UCX's names of transports. */
static bool
protocol_valid(const char *protocol)
{
    bool name = false;

    for (const char *c = protocol; *c; c++) {
        if (*c != ',' && *c != '_' && !islower((unsigned char) *c) &&
            !isdigit((unsigned char) *c))
            return false;
        if (*c == ',' && !name)
            return false;
        name = *c != ',';
    }
    return name && strlen(protocol) < sizeof(((na_plugin_class *) 0)->protocol);
}

/* What info calls for each interface. */
struct listing {
    const char *protocol;
    void *arg;
    void (*found)(void *arg, const na_plugin_device *device);
};

static void
list_one(void *arg, const char *name, const char *address)
{
    const struct listing *listing = arg;
    na_plugin_device device = {.size = sizeof(device),
        .protocol = listing->protocol,
        .name = name,
        .detail = address};

    listing->found(listing->arg, &device);
}

static int32_t
info(const na_plugin_host *host, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    static const na_plugin_device all = {.size = sizeof(all),
        .protocol = "all",
        .detail = "what UCX chooses for each peer"};
    struct listing listing = {.protocol = "tcp", .arg = arg, .found = found};
    bool known = protocol == NULL;

    for (size_t i = 0; protocols[i] != NULL && !known; i++)
        known = strcmp(protocol, protocols[i]) == 0;
    if (!known && !protocol_valid(protocol))
        return NA_PLUGIN_E_PROTONOSUPPORT;
    if (protocol == NULL || strcmp(protocol, "all") == 0)
        found(arg, &all);
    if (protocol == NULL || strcmp(protocol, "tcp") == 0)
        ucx_where_list(&listing, list_one);
    return NA_PLUGIN_OK;
}

/* Refuses what this version does not know. */
static int32_t
check_info(const na_plugin_host *host, const na_plugin_open_info *info)
{
    if (info->size < NA_PLUGIN_OPEN_INFO_SIZE_1_0) {
        UCX_LOG(host, ERROR, "open_info of %" PRIu32 " bytes is too short",
            info->size);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (info->protocol == NULL || !protocol_valid(info->protocol)) {
        UCX_LOG(host, ERROR,
            "protocol \"%.100s\": all, or names of UCX's transports with "
            "commas between are needed",
            info->protocol != NULL ? info->protocol : "");
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    if ((info->flags & ~FLAGS_KNOWN) != 0 ||
        info->addr_format > NA_PLUGIN_ADDR_NATIVE ||
        info->traffic_class > NA_PLUGIN_TC_NETWORK_CTRL) {
        UCX_LOG(host, ERROR,
            "unknown among flags 0x%" PRIx32 ", address format %" PRIu32
            ", traffic class %" PRIu32,
            info->flags, info->addr_format, info->traffic_class);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    return NA_PLUGIN_OK;
}

/* Says what of the wishes is not heard. */
static void
mention_ignored(const na_plugin_host *host, const na_plugin_open_info *info)
{
    if ((info->flags & NA_PLUGIN_OPEN_MEM_DEVICE) != 0)
        UCX_LOG(host, INFO, "device memory cannot be registered");
    if (info->auth_key != NULL)
        UCX_LOG(host, WARNING, "the authorization key is not used");
    if (info->addr_format == NA_PLUGIN_ADDR_NATIVE)
        UCX_LOG(host, INFO, "addresses are of IP");
    if (info->traffic_class > NA_PLUGIN_TC_BEST_EFFORT)
        UCX_LOG(host, INFO, "there are no traffic classes");
    if (info->max_contexts > UCX_CONTEXTS)
        UCX_LOG(host, INFO, "%" PRIu32 " contexts expected; at most %u",
            info->max_contexts, UCX_CONTEXTS);
}

static uint32_t
message_size(const na_plugin_host *host, uint64_t wanted, const char *kind)
{
    if (wanted == 0)
        return UCX_MESSAGE_DEFAULT;
    if (wanted <= UCX_MESSAGE_MAX)
        return (uint32_t) wanted;
    UCX_LOG(host, INFO, "%s messages of %" PRIu64 " bytes wanted; at most %u",
        kind, wanted, UCX_MESSAGE_MAX);
    return UCX_MESSAGE_MAX;
}

/* Sizes, settings, and what the info string says of transports and devices. */
static int32_t
configure(na_plugin_class *cls, const na_plugin_open_info *info)
{
    const na_plugin_host *host = cls->host;
    uint64_t window = host->number(host, "ucx.window");

    cls->max_unexpected =
        message_size(cls->host, info->max_unexpected_size, "unexpected");
    cls->max_expected =
        message_size(cls->host, info->max_expected_size, "expected");
    cls->window = WINDOW_MESSAGES * ucx_cost(cls->max_unexpected);
    if (cls->window < window)
        cls->window = window;
    cls->connect_ns = host->number(host, "ucx.connect_timeout");
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
            UCX_LOG(cls->host, ERROR, "no device has a name like \"%.100s\"",
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
    if (ucx_random_draw(&cls->random, &cls->number))
        return NA_PLUGIN_OK;
    UCX_LOG(cls->host, ERROR, "no random number: %s", strerror(errno));
    return NA_PLUGIN_E_IO_ERROR;
}

/* Where the class is to be, which decides the family of its addresses too. One
 * that doesn't listen need not be anywhere. */
static int32_t
find_place(na_plugin_class *cls, const na_plugin_open_info *info,
    struct ucx_where *where_p)
{
    struct ucx_where where = {.length = 0};
    int family = info->addr_format == NA_PLUGIN_ADDR_IPV6   ? AF_INET6
                 : info->addr_format == NA_PLUGIN_ADDR_IPV4 ? AF_INET
                                                            : AF_UNSPEC;
    const char *host = info->host;

    if (host == NULL && info->device != NULL &&
        ucx_where_interface(info->device))
        host = info->device;
    cls->family = family == AF_INET6 ? AF_INET6 : AF_INET;
    if (!cls->listens && host == NULL)
        return NA_PLUGIN_OK;
    int32_t ret = ucx_where_own(cls->host, host,
        info->port > 0 ? (uint32_t) info->port : 0, family, info->ip_subnet,
        &where);
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
    struct ucx_where *where)
{
    char name[UCX_NAME_MAX + 1] = "";

    if (cls->listens) {
        int32_t ret = ucx_library_listen(cls, where);
        if (ret != NA_PLUGIN_OK)
            return ret;
        ucx_where_reach(where, info->ip_subnet);
        int n = snprintf(name, sizeof(name), "%s://", cls->protocol);
        if (!ucx_where_text(
                &where->address, name + n, sizeof(name) - (size_t) n)) {
            UCX_LOG(cls->host, ERROR, "the own address has no numeric form");
            return NA_PLUGIN_E_ADDRNOTAVAIL;
        }
    }
    cls->self = cls->listens
                    ? ucx_addr_get(cls, name, &where->address, where->length)
                    : ucx_addr_make(cls, name);
    return cls->self != NULL ? NA_PLUGIN_OK : NA_PLUGIN_E_NOMEM;
}

/* Frees a class that has been begun, from whatever stage of it. */
static void
destroy(na_plugin_class *cls)
{
    for (uint32_t i = 0; i < UCX_CONTEXTS; i++)
        if (cls->contexts[i] != NULL)
            ucx_ctx_destroy(cls->contexts[i]);
    ucx_lock_take(&cls->lock);
    if (cls->worker != NULL)
        ucx_farewell(cls);
    uint32_t mems = ucx_mem_fini(cls);
    ucx_key_fini(cls);
    ucx_library_close(cls);
    struct ucx_link *link;
    while ((link = ucx_list_pop(&cls->closed)) != NULL)
        free(link);
    if (cls->self != NULL)
        ucx_addr_release(cls, cls->self);
    ucx_parcel_fini(cls);
    ucx_lock_drop(&cls->lock);
    uint32_t addrs = ucx_addr_fini(cls);
    if (addrs != 0 || mems != 0)
        UCX_LOG(cls->host, WARNING,
            "closed with %" PRIu32 " addresses and %" PRIu32
            " registrations left",
            addrs, mems);
    free(cls->slots);
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
    ucx_lock_init(&cls->lock, cls->single);
    ret = draw_number(cls);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (ucx_addr_init(cls) != NA_PLUGIN_OK ||
        ucx_mem_init(cls) != NA_PLUGIN_OK) {
        UCX_LOG(cls->host, ERROR, "no memory for a class");
        return NA_PLUGIN_E_NOMEM;
    }
    struct ucx_where where = {.length = 0};
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

static int32_t
open_class(const na_plugin_host *host, const na_plugin_open_info *info,
    na_plugin_opened *opened)
{
    int32_t ret = check_info(host, info);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (opened->size < NA_PLUGIN_OPENED_SIZE_1_0) {
        UCX_LOG(host, ERROR, "opened of %" PRIu32 " bytes is too short",
            opened->size);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    na_plugin_class *cls =
        aligned_alloc(64, (sizeof(*cls) + 63) & ~(size_t) 63);
    if (cls == NULL) {
        UCX_LOG(host, ERROR, "no memory for a class");
        return NA_PLUGIN_E_NOMEM;
    }
    memset(cls, 0, sizeof(*cls));
    cls->host = host;
    cls->worker_fd = -1;
    cls->first_ns = UINT64_MAX;
    ret = build(cls, info);
    if (ret != NA_PLUGIN_OK) {
        destroy(cls);
        return ret;
    }
    mention_ignored(host, info);

    opened->features = 0;
    opened->cls = cls;
    opened->ops = &ops;
    opened->op_size = cls->op_front + (uint32_t) sizeof(struct ucx_op);
    opened->op_align = _Alignof(struct ucx_op);
    opened->max_unexpected_size = cls->max_unexpected;
    opened->max_expected_size = cls->max_expected;
    opened->unexpected_header_size = 0;
    opened->expected_header_size = 0;
    opened->max_tag = UCX_TAG_MAX;
    opened->max_segments = UCX_SEGMENTS;
    opened->max_rma_size = 0;
    opened->max_contexts = UCX_CONTEXTS;
    return NA_PLUGIN_OK;
}

NA_PLUGIN_EXPORT const na_plugin NA_PLUGIN_SYMBOL(ucx) = {
    .magic = NA_PLUGIN_MAGIC,
    .abi_major = NA_PLUGIN_ABI_MAJOR,
    .abi_minor = NA_PLUGIN_ABI_MINOR,
    .size = sizeof(na_plugin),
    .min_host_minor = 0,
    .name = "ucx",
    .version = UCX_PLUGIN_VERSION,
    .protocols = protocols,
    .flags = NA_PLUGIN_OTHER_PROTOCOLS,
    .priority = 40,
    .info = info,
    .open = open_class,
    .close = destroy,
    .settings = ucx_class_settings,
};

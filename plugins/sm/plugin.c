/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin's one symbol, the table of its operations, and how a class is
 * opened and closed. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "access.h"
#include "address.h"
#include "common/open.h"
#include "common/setting.h"
#include "conn.h"
#include "connect.h"
#include "context.h"
#include "mem.h"
#include "message.h"
#include "privilege.h"
#include "progress.h"
#include "queue.h"
#include "report.h"
#include "rma.h"
#include "shared.h"
#include "sleepers.h"
#include "sm.h"
#include "wait.h"

#define ANY_USER "any/" /* before the name */

/* What users may set of a class; the README says more of each. */
static const na_plugin_setting *const settings[] = {
    TP_SETTING(BYTES, 0, SM_RING_CAPACITY_MAX, "sm.ring_size", "32K",
        "bytes of a ring of ours with its control page"),
    TP_SETTING(BYTES, 0, UINT64_C(1) << 40, "sm.queue_size", "1M",
        "bytes of unexpected messages queued in a context"),
    TP_SETTING(DURATION, 0, 1000000 * TP_SECOND, "sm.send_timeout", "300s",
        "how long a send waits for room; 0: for ever"),
    TP_SETTING(BOOLEAN, 0, 1, "sm.membarrier", "yes",
        "no: fences in every send instead of the system call"),
    TP_SETTING(BOOLEAN, 0, 1, "sm.any_user", "no",
        "yes: peers may be processes of any user, as with any/"),
    TP_SETTING(NUMBER, 1, 1000000, "sm.user_connections", "64",
        "connections that each other user may have, if admitted"),
    NULL};

static const void *
extension(na_plugin_class *cls, const char *id)
{
    if (strcmp(id, NA_PLUGIN_WAIT_ID) == 0 && !cls->no_block)
        return &sm_wait;
    if (strcmp(id, NA_PLUGIN_MEM_ALLOC_ID) == 0)
        return &sm_mem_alloc;
    if (strcmp(id, NA_PLUGIN_REPORT_ID) == 0)
        return &sm_report;
    return NULL;
}

/* The operations, and those of a class that has one thread at once: without the
 * locks on the path of a message. */
static const na_plugin_ops ops = {
    .size = sizeof(ops),
    .ctx_create = sm_ctx_create,
    .ctx_destroy = sm_ctx_destroy,
    .addr_self = sm_addr_self,
    .addr_lookup = sm_addr_lookup,
    .addr_dup = sm_addr_dup,
    .addr_free = sm_addr_free,
    .addr_equal = sm_addr_equal,
    .addr_hash = sm_addr_hash,
    .addr_to_string = sm_addr_to_string,
    .addr_serialize = sm_addr_serialize,
    .addr_deserialize = sm_addr_deserialize,
    .addr_forget = sm_addr_forget,
    .buf_alloc = sm_buf_alloc,
    .buf_free = sm_buf_free,
    .buf_init = sm_buf_init,
    .mem_register = sm_mem_register,
    .mem_deregister = sm_mem_deregister,
    .mem_serialize = sm_mem_serialize,
    .mem_deserialize = sm_mem_deserialize,
    .mem_remote_free = sm_mem_free,
    .put = sm_put,
    .get = sm_get,
    .cancel = sm_cancel,
    .extension = extension,
    .send_unexpected = sm_send_unexpected,
    .recv_unexpected = sm_recv_unexpected,
    .send_expected = sm_send_expected,
    .recv_expected = sm_recv_expected,
    .poll = sm_poll,
};

static const na_plugin_ops ops_single = {
    .size = sizeof(ops_single),
    .ctx_create = sm_ctx_create,
    .ctx_destroy = sm_ctx_destroy,
    .addr_self = sm_addr_self,
    .addr_lookup = sm_addr_lookup,
    .addr_dup = sm_addr_dup,
    .addr_free = sm_addr_free,
    .addr_equal = sm_addr_equal,
    .addr_hash = sm_addr_hash,
    .addr_to_string = sm_addr_to_string,
    .addr_serialize = sm_addr_serialize,
    .addr_deserialize = sm_addr_deserialize,
    .addr_forget = sm_addr_forget,
    .buf_alloc = sm_buf_alloc,
    .buf_free = sm_buf_free,
    .buf_init = sm_buf_init,
    .mem_register = sm_mem_register,
    .mem_deregister = sm_mem_deregister,
    .mem_serialize = sm_mem_serialize,
    .mem_deserialize = sm_mem_deserialize,
    .mem_remote_free = sm_mem_free,
    .put = sm_put,
    .get = sm_get,
    .cancel = sm_cancel,
    .extension = extension,
    .send_unexpected = sm_send_unexpected_single,
    .recv_unexpected = sm_recv_unexpected_single,
    .send_expected = sm_send_expected_single,
    .recv_expected = sm_recv_expected_single,
    .poll = sm_poll_single,
};

static int32_t
info(const na_plugin_host *host, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    static const na_plugin_device device = {
        .size = sizeof(device),
        .protocol = SM_PROTOCOL,
        .name = "sm",
        .detail = "shared memory of this host",
    };

    if (protocol != NULL && strcmp(protocol, SM_PROTOCOL) != 0)
        return NA_PLUGIN_E_PROTONOSUPPORT;
    found(arg, &device);
    return NA_PLUGIN_OK;
}

/* The name that a class is opened with, "" if none: what follows "any/", which
 * admits every user's processes, or all of it. */
static const char *
own_name(const na_plugin_open_info *info, bool *any_user_p)
{
    const char *name = info->name != NULL ? info->name : "";

    *any_user_p = strncmp(name, ANY_USER, sizeof(ANY_USER) - 1) == 0;
    return *any_user_p ? name + sizeof(ANY_USER) - 1 : name;
}

/* Refuses protocols and names that are not sm's. */
static int32_t
check_info(const na_plugin_host *host, const na_plugin_open_info *info)
{
    if (info->protocol == NULL || strcmp(info->protocol, SM_PROTOCOL) != 0) {
        TP_LOG(host, ERROR, "protocol \"%s\"; this plugin speaks %s",
            info->protocol != NULL ? info->protocol : "", SM_PROTOCOL);
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    bool any_user;
    const char *name = own_name(info, &any_user);
    if (name[0] != '\0' && !sm_name_valid(name, strlen(name), SM_PREFIX_MAX)) {
        TP_LOG(host, ERROR,
            "\"%.120s\" is no name: 1 to %u of A-Z a-z 0-9 . _ + -, with "
            "\"any/\" before it or not",
            info->name, SM_PREFIX_MAX);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    return NA_PLUGIN_OK;
}

/* The smallest ring for these messages, as large as wanted if that is more. */
static uint32_t
ring_capacity(uint32_t longest, uint64_t wanted)
{
    uint64_t page = sm_ring_page();
    uint64_t capacity = wanted > 2 * page ? wanted - page : page;

    capacity -= capacity % page;
    if (capacity > SM_RING_CAPACITY_MAX)
        capacity = SM_RING_CAPACITY_MAX;
    while (!sm_ring_fits(capacity, longest))
        capacity += page;
    return (uint32_t) capacity;
}

/* Sizes and settings. */
static void
configure(na_plugin_class *cls, const na_plugin_open_info *info)
{
    const na_plugin_host *host = cls->host;

    cls->max_unexpected = tp_open_message_size(host, info->max_unexpected_size,
        SM_MESSAGE_DEFAULT, SM_MESSAGE_MAX, "unexpected");
    cls->max_expected = tp_open_message_size(host, info->max_expected_size,
        SM_MESSAGE_DEFAULT, SM_MESSAGE_MAX, "expected");
    cls->ring_capacity = ring_capacity(cls->max_unexpected > cls->max_expected
                                           ? cls->max_unexpected
                                           : cls->max_expected,
        host->number(host, "sm.ring_size"));
    cls->queue_limit = host->number(host, "sm.queue_size");
    cls->send_timeout_ns = host->number(host, "sm.send_timeout");
    cls->membarrier =
        host->number(host, "sm.membarrier") != 0 && sm_sleepers_register();
    cls->listens = (info->flags & NA_PLUGIN_OPEN_LISTEN) != 0;
    cls->no_block = (info->flags & NA_PLUGIN_OPEN_NO_BLOCK) != 0;
    cls->no_retry = (info->flags & NA_PLUGIN_OPEN_NO_RETRY) != 0;
    cls->copies_denied = sm_rma_permitted() != 0;
    if (cls->copies_denied)
        TP_LOG(cls->host, INFO,
            "process_vm_readv is forbidden (%s): whoever owns the memory of a "
            "put or get copies, through the rings",
            strerror(sm_rma_permitted()));
    cls->privileged = sm_privilege_possible();
    atomic_init(&cls->denial_said, cls->copies_denied);
    own_name(info, &cls->any_user);
    if (host->number(host, "sm.any_user") != 0)
        cls->any_user = true;
    cls->user_connections =
        (uint32_t) host->number(host, "sm.user_connections");
    cls->uid = geteuid();
    cls->single = (info->thread_mode & NA_PLUGIN_THREAD_SINGLE_CLASS) != 0;
    if (sm_access_set_key(cls, info->auth_key) != NA_PLUGIN_OK)
        TP_LOG(cls->host, WARNING,
            "the authorization key is not used: this build has no libsodium");
}

/* A number that no other class has. */
static int32_t
draw_number(na_plugin_class *cls)
{
    if (tp_random_draw(&cls->random, &cls->owner))
        return NA_PLUGIN_OK;
    TP_LOG(cls->host, ERROR, "no random number: %s", strerror(errno));
    return NA_PLUGIN_E_IO_ERROR;
}

/* Frees a class that has been begun, from whatever stage of it. */
static void
destroy(na_plugin_class *cls)
{
    sm_conn_fini(cls);
    sm_connect_fini(cls);
    for (uint32_t i = 0; i < SM_CONTEXTS; i++) {
        na_plugin_ctx *ctx = sm_class_context(cls, i);
        if (ctx != NULL && ctx->alive)
            sm_ctx_destroy(ctx);
        free(ctx);
    }
    if (cls->self != NULL)
        sm_addr_release(cls, cls->self);
    cls->self = NULL;
    uint32_t addrs = sm_addr_fini(cls);
    uint32_t mems = sm_mem_fini(cls);
    uint32_t areas = sm_shared_fini(cls);
    if (addrs != 0 || mems != 0 || areas != 0)
        TP_LOG(cls->host, WARNING,
            "closed with %" PRIu32 " addresses, %" PRIu32
            " registrations and %" PRIu32 " pieces of memory left",
            addrs, mems, areas);
    if (cls->epoll >= 0)
        close(cls->epoll);
    free(cls);
}

/* Builds a class; what was built of one that fails is the caller's to
 * destroy. */
static int32_t
build(na_plugin_class *cls, const na_plugin_open_info *info)
{
    configure(cls, info);
    tp_lock_init(&cls->progress, cls->single);
    sm_kernel_due(cls);
    int32_t ret = draw_number(cls);
    if (ret != NA_PLUGIN_OK)
        return ret;

    if (sm_addr_init(cls) != NA_PLUGIN_OK || sm_mem_init(cls) != NA_PLUGIN_OK) {
        TP_LOG(cls->host, ERROR, "no memory for a class");
        return NA_PLUGIN_E_NOMEM;
    }
    cls->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (cls->epoll < 0) {
        TP_LOG(
            cls->host, ERROR, "no descriptor for a class: %s", strerror(errno));
        return NA_PLUGIN_E_NOMEM;
    }
    bool any_user;
    const char *name = own_name(info, &any_user);
    return sm_connect_init(cls, name[0] != '\0' ? name : NULL);
}

static int32_t
open_class(const na_plugin_host *host, const na_plugin_open_info *info,
    na_plugin_opened *opened)
{
    static const struct tp_offer offer = {
        .max_contexts = SM_CONTEXTS, .auth_key = true, .native = true};

    int32_t ret = tp_open_check(host, info, opened);
    if (ret == NA_PLUGIN_OK)
        ret = check_info(host, info);
    if (ret != NA_PLUGIN_OK)
        return ret;
    na_plugin_class *cls = tp_alloc_lines(sizeof(*cls));
    if (cls == NULL) {
        TP_LOG(host, ERROR, "no memory for a class");
        return NA_PLUGIN_E_NOMEM;
    }
    cls->host = host;
    cls->epoll = cls->name_fd = cls->alias_fd = cls->registry.fd = -1;
    ret = build(cls, info);
    if (ret != NA_PLUGIN_OK) {
        destroy(cls);
        return ret;
    }
    tp_open_ignored(host, info, &offer);

    opened->features = NA_PLUGIN_FEATURE_NODE_LOCAL;
    /* other users' processes have to help */
    if (!cls->copies_denied && !cls->any_user && cls->registry.fd >= 0)
        opened->features |= NA_PLUGIN_FEATURE_RMA_NATIVE;
    opened->cls = cls;
    opened->ops = cls->single ? &ops_single : &ops;
    opened->op_size = sizeof(struct sm_op);
    opened->op_align = _Alignof(struct sm_op);
    opened->max_unexpected_size = cls->max_unexpected;
    opened->max_expected_size = cls->max_expected;
    opened->unexpected_header_size = 0;
    opened->expected_header_size = 0;
    opened->max_tag = SM_TAG_MAX;
    opened->max_segments = SM_SEGMENTS;
    opened->max_rma_size = 0;
    opened->max_contexts = SM_CONTEXTS;
    return NA_PLUGIN_OK;
}

static const char *const protocols[] = {SM_PROTOCOL, NULL};

NA_PLUGIN_EXPORT const na_plugin NA_PLUGIN_SYMBOL(sm) = {
    .magic = NA_PLUGIN_MAGIC,
    .abi_major = NA_PLUGIN_ABI_MAJOR,
    .abi_minor = NA_PLUGIN_ABI_MINOR,
    .size = sizeof(na_plugin),
    .min_host_minor = 0,
    .name = "na",
    .version = SM_VERSION,
    .protocols = protocols,
    .flags = NA_PLUGIN_OPAQUE_NAME,
    .priority = 100,
    .info = info,
    .open = open_class,
    .close = destroy,
    .settings = settings,
};

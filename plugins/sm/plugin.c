/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin's one symbol, and the tables of its operations and settings. */
#include <string.h>

#include "address.h"
#include "common/open.h"
#include "common/setting.h"
#include "lifecycle.h"
#include "mem.h"
#include "message.h"
#include "progress.h"
#include "queue.h"
#include "report.h"
#include "ring.h"
#include "rma.h"
#include "shared.h"
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
    TP_SETTING(BOOLEAN, 0, 1, "sm.assist", "yes",
        "no: one side alone copies a large put or get"),
    TP_SETTING(NUMBER, 0, 2, "sm.demote", "1",
        "demote the lines of records: 0 never, 1 if the processor can, 2 "
        "always"),
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

/* The operations; suffix: of those on the path of a message, which a class with
 * one thread has without locks; send_suffix, poll_suffix: of those that demote
 * lines. */
#define OPS(suffix, send_suffix, poll_suffix)                                  \
    {                                                                          \
        .size = sizeof(na_plugin_ops), .ctx_create = sm_ctx_create,            \
        .ctx_destroy = sm_ctx_destroy, .addr_self = sm_addr_self,              \
        .addr_lookup = sm_addr_lookup, .addr_dup = sm_addr_dup,                \
        .addr_free = sm_addr_free##suffix, .addr_equal = sm_addr_equal,        \
        .addr_hash = sm_addr_hash, .addr_to_string = sm_addr_to_string,        \
        .addr_serialize = sm_addr_serialize,                                   \
        .addr_deserialize = sm_addr_deserialize,                               \
        .addr_forget = sm_addr_forget, .buf_alloc = tp_buf_alloc,              \
        .buf_free = tp_buf_free, .buf_init = tp_buf_init,                      \
        .mem_register = sm_mem_register, .mem_deregister = sm_mem_deregister,  \
        .mem_serialize = sm_mem_serialize,                                     \
        .mem_deserialize = sm_mem_deserialize, .mem_remote_free = sm_mem_free, \
        .put = sm_put, .get = sm_get, .cancel = sm_cancel,                     \
        .extension = extension,                                                \
        .send_unexpected = sm_send_unexpected##send_suffix,                    \
        .recv_unexpected = sm_recv_unexpected##suffix,                         \
        .send_expected = sm_send_expected##send_suffix,                        \
        .recv_expected = sm_recv_expected##suffix,                             \
        .poll = sm_poll##poll_suffix,                                          \
    }

/* By single, then by demotes. */
static const na_plugin_ops ops[2][2] = {
    {OPS(, , ), OPS(, _demoting, _demoting)},
    {OPS(_single, _single, _single), OPS(_single, _single_demoting, _single)}};

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

/* Refuses protocols and names that are not sm's. name_p: what the class is opened
 * with, "" if nothing: what follows "any/", which admits every user's processes,
 * or all of it. */
static int32_t
check_info(const na_plugin_host *host, const na_plugin_open_info *info,
    const char **name_p, bool *any_user_p)
{
    const char *name = info->name != NULL ? info->name : "";
    bool any_user = strncmp(name, ANY_USER, sizeof(ANY_USER) - 1) == 0;

    if (info->protocol == NULL || strcmp(info->protocol, SM_PROTOCOL) != 0) {
        TP_LOG(host, ERROR, "protocol \"%s\"; this plugin speaks %s",
            info->protocol != NULL ? info->protocol : "", SM_PROTOCOL);
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    if (any_user)
        name += sizeof(ANY_USER) - 1;
    if (name[0] != '\0' && !sm_name_valid(name, strlen(name), SM_PREFIX_MAX)) {
        TP_LOG(host, ERROR,
            "invalid name \"%.120s\": not 1 to %u of A-Z a-z 0-9 . _ + -, with "
            "\"any/\" before it or not",
            info->name, SM_PREFIX_MAX);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    *name_p = name;
    *any_user_p = any_user;
    return NA_PLUGIN_OK;
}

static int32_t
open_class(const na_plugin_host *host, const na_plugin_open_info *info,
    na_plugin_opened *opened)
{
    static const struct tp_offer offer = {
        .max_contexts = SM_CONTEXTS, .auth_key = true, .native = true};
    na_plugin_class *cls;
    const char *name;
    bool any_user;

    int32_t ret = tp_open_check(host, info, opened);
    if (ret == NA_PLUGIN_OK)
        ret = check_info(host, info, &name, &any_user);
    if (ret == NA_PLUGIN_OK)
        ret = sm_class_open(host, info, name, any_user, &cls);
    if (ret != NA_PLUGIN_OK)
        return ret;
    tp_open_ignored(host, info, &offer);

    opened->features = NA_PLUGIN_FEATURE_NODE_LOCAL;
    /* other users' processes need emulation */
    if (!cls->copy_denied && !cls->any_user && cls->registry.fd >= 0)
        opened->features |= NA_PLUGIN_FEATURE_RMA_NATIVE;
    opened->cls = cls;
    opened->ops = &ops[cls->single][cls->demotes];
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
    .close = sm_class_close,
    .settings = settings,
};

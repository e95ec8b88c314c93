/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin's one symbol and its tables: operations, settings, report. */
#include <ctype.h>
#include <string.h>

#include "address.h"
#include "common/host.h"
#include "common/open.h"
#include "common/setting.h"
#include "context.h"
#include "key.h"
#include "mem.h"
#include "message.h"
#include "op.h"
#include "open.h"
#include "progress.h"
#include "rma.h"
#include "wait.h"
#include "work.h"

#define UCX_PLUGIN_VERSION "0.1.0"

static const char *const protocols[] = {"all", "tcp", "rc", "ud", "dc", NULL};

/* What users may set; the README says more of each. */
static const na_plugin_setting *const settings[] = {
    TP_SETTING(BYTES, UINT64_C(16) << 10, UINT64_C(1) << 30, "ucx.window",
        "128K",
        "bytes of unexpected messages that each peer may send before some are "
        "received"),
    TP_SETTING(DURATION, TP_SECOND, 86400 * TP_SECOND, "ucx.connect_timeout",
        "10s", "how long a peer may take to answer a call"),
    TP_SETTING(DURATION, TP_SECOND, 86400 * TP_SECOND, "ucx.host_timeout",
        "10s", "how long the host of a peer may be silent, over TCP"),
    TP_SETTING(DURATION, 0, 86400 * TP_SECOND, "ucx.send_timeout", "300s",
        "how long a send waits for room; 0: for ever"),
    TP_SETTING(BOOLEAN, 0, 1, "ucx.trusted_network", "no",
        "yes: only trusted hosts can connect, no warning about it"),
    NULL};

#define LINE(name, kind, member, texts)                                        \
    TP_REPORT_LINE(name, kind, na_plugin_class, member, texts)
#define COUNTER(name, member) LINE(name, COUNTER, counters.member, NULL)
static const struct tp_report_line lines[] = {
    LINE("address", TEXT, name, NULL),
    LINE("transports", CHARS, tls, "all"),
    LINE("devices", CHARS, devices, "all"),
    LINE("locks", FLAG, single, "none\0yes"),
    LINE("window_bytes", COUNTER, window, NULL),
    COUNTER("peers_connected", conns),
    COUNTER("messages_sent", sent),
    COUNTER("messages_received", received),
    COUNTER("messages_to_self", self),
    COUNTER("sends_copied", copied),
    COUNTER("sends_queued", stalls),
    COUNTER("unexpected_queued", queued),
    COUNTER("expected_dropped", dropped),
    COUNTER("messages_strayed", strayed),
    COUNTER("messages_malformed", malformed),
    COUNTER("connections_made", connects),
    COUNTER("connections_lost", losses),
    COUNTER("connections_retired", retired),
    COUNTER("connections_broken", broken),
    COUNTER("put_bytes", put_bytes),
    COUNTER("get_bytes", get_bytes),
    COUNTER("rma_native_bytes", native_bytes),
    COUNTER("rma_message_bytes", message_bytes),
    COUNTER("rma_self_bytes", self_bytes),
    LINE("ucx_version", TEXT, version, NULL),
};

static uint32_t
entries(na_plugin_class *cls, uint32_t first, na_plugin_report_entry *list,
    uint32_t max)
{
    return tp_report_entries(
        lines, sizeof(lines) / sizeof(lines[0]), cls, first, list, max);
}

static const na_plugin_report report = {
    .size = sizeof(report), .entries = entries};

static const void *
extension(na_plugin_class *cls, const char *id)
{
    if (strcmp(id, NA_PLUGIN_WAIT_ID) == 0)
        return cls->worker_fd >= 0 ? &ucx_wait : NULL;
    if (strcmp(id, NA_PLUGIN_REPORT_ID) == 0)
        return &report;
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
    .buf_alloc = tp_buf_alloc,
    .buf_free = tp_buf_free,
    .buf_init = tp_buf_init,
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
        tp_host_list(&listing, list_one);
    return NA_PLUGIN_OK;
}

static int32_t
open_class(const na_plugin_host *host, const na_plugin_open_info *info,
    na_plugin_opened *opened)
{
    static const struct tp_offer offer = {
        .max_contexts = UCX_CONTEXTS, .subnet = true, .ip = true};

    int32_t ret = tp_open_check(host, info, opened);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (info->protocol == NULL || !protocol_valid(info->protocol)) {
        TP_LOG(host, ERROR,
            "protocol \"%.100s\": all, or names of UCX's transports with "
            "commas between are needed",
            info->protocol != NULL ? info->protocol : "");
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    ret = ucx_class_new(host, info, &opened->cls);
    if (ret != NA_PLUGIN_OK)
        return ret;
    tp_open_ignored(host, info, &offer);

    na_plugin_class *cls = opened->cls;
    opened->features = 0;
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
    .close = ucx_class_destroy,
    .settings = settings,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin's one symbol and its tables: operations, settings, report. */
#include <string.h>

#include "address.h"
#include "class.h"
#include "common/open.h"
#include "common/report.h"
#include "common/setting.h"
#include "endpoints.h"
#include "info.h"
#include "library.h"
#include "match.h"
#include "mem.h"
#include "ofi.h"
#include "op.h"
#include "peer.h"
#include "pool.h"
#include "progress.h"
#include "quirk.h"
#include "rma.h"
#include "route.h"
#include "send.h"

#define TIME_MAX (UINT64_C(1000000000) * TP_MS)

/* What users may set; details are in the README. */
static const na_plugin_setting *const settings[] = {
    TP_SETTING(BYTES, 0, UINT64_C(1) << 40, "ofi.queue_size", "64M",
        "bytes of unexpected messages that a class queues"),
    TP_SETTING(DURATION, 10 * TP_MS, TIME_MAX, "ofi.probe_interval", "1s",
        "silence after which a peer that is waited for is pinged"),
    TP_SETTING(DURATION, TP_SECOND, TIME_MAX, "ofi.connect_timeout", "10s",
        "how long connecting to a peer may take"),
    TP_SETTING(DURATION, TP_SECOND, TIME_MAX, "ofi.host_timeout", "10s",
        "how long the host of a peer that is waited for may be silent"),
    TP_SETTING(DURATION, 0, TIME_MAX, "ofi.silent_timeout", "30s",
        "when a TCP connection whose peer has sent nothing is shut down; "
        "0: never"),
    TP_SETTING(DURATION, TP_MS, TIME_MAX, "ofi.retry_timeout", "10s",
        "how long libfabric may take nothing for a peer that cannot be probed"),
    TP_SETTING(DURATION, TP_MS, TIME_MAX, "ofi.send_timeout", "300s",
        "how long libfabric may take nothing for a peer that is there"),
    NULL};

/* A report: choices made at open, then counters of all endpoints. */
struct summary {
    const char *provider;
    const char *libfabric;
    const char *fabric;
    const char *device;
    const char *why;
    const char *modes;
    bool can_wait;
    bool single;
    bool delivery;
    bool multi;
    uint64_t inject_bytes;
    uint64_t receive_buffers;
    uint64_t peers;
    uint64_t peer_bytes;
    struct ofi_counters counters;
    uint64_t copies;
    uint64_t further;
};

#define LINE(name, kind, member, texts)                                        \
    TP_REPORT_LINE(name, kind, struct summary, member, texts)
#define TEXT(name, member) LINE(name, TEXT, member, NULL)
#define FLAG(name, member, texts) LINE(name, FLAG, member, texts)
#define NUMBER(name, member) LINE(name, COUNTER, member, NULL)
#define COUNTER(name, member) NUMBER(name, counters.member)
static const struct tp_report_line lines[] = {
    TEXT("provider", provider),
    TEXT("libfabric", libfabric),
    TEXT("fabric", fabric),
    TEXT("device", device),
    TEXT("device_choice", why),
    TEXT("registration_modes", modes),
    FLAG("wait", can_wait, "descriptor\0none"),
    FLAG("locks", single, "none\0yes"),
    FLAG("put_completion", delivery, "delivery\0read back"),
    NUMBER("inject_bytes", inject_bytes),
    NUMBER("receive_buffers", receive_buffers),
    FLAG("receives", multi, "many a buffer\0one a buffer"),
    NUMBER("peers", peers),
    NUMBER("peer_bytes", peer_bytes),
    COUNTER("messages_sent", sent),
    COUNTER("messages_injected", injected),
    COUNTER("messages_received", received),
    COUNTER("messages_to_self", to_self),
    COUNTER("sends_queued", queued),
    COUNTER("eagain_retries", eagain_retries),
    COUNTER("unexpected_queued", kept_unexpected),
    COUNTER("expected_dropped", dropped_expected),
    COUNTER("forwarded", forwarded),
    COUNTER("strayed", strayed),
    COUNTER("malformed", malformed),
    COUNTER("messages_lost", no_memory),
    COUNTER("pings", pings),
    COUNTER("liveness_probes", probes),
    COUNTER("silent_connections", silent),
    COUNTER("peers_lost", lost),
    COUNTER("peers_replaced", replaced),
    COUNTER("put_bytes", put_bytes),
    COUNTER("get_bytes", get_bytes),
    COUNTER("fragments", fragments),
    COUNTER("completion_errors", completion_errors),
    NUMBER("copies_bytes", copies),
    NUMBER("context_endpoints", further),
};

static void
add_up(struct ofi_endpoint *ep, void *arg)
{
    struct summary *summary = arg;
    uint64_t *to = (void *) &summary->counters;
    const uint64_t *from = (const void *) &ep->counters;

    tp_mutex_take(&ep->lock);
    for (size_t i = 0; i < sizeof(ep->counters) / sizeof(*to); i++)
        to[i] += from[i];
    summary->copies += ofi_pool_bytes(ep);
    summary->further += !ofi_is_first(ep);
    if (ofi_is_first(ep))
        summary->peers = ep->peers.count;
    tp_mutex_drop(&ep->lock);
}

static uint32_t
entries(na_plugin_class *cls, uint32_t first, na_plugin_report_entry *list,
    uint32_t max)
{
    struct summary summary = {.provider = cls->text_provider,
        .libfabric = cls->text_version,
        .fabric = cls->first->info->fabric_attr->name,
        .device = cls->first->info->domain_attr->name,
        .why = cls->text_why,
        .modes = cls->text_mr,
        .can_wait = cls->first->can_wait,
        .single = cls->single,
        .delivery = cls->delivery,
        .multi = cls->first->rx_multi,
        .inject_bytes = cls->first->inject_size,
        .receive_buffers = cls->first->rx_count,
        .peer_bytes = sizeof(na_plugin_addr) + sizeof(struct ofi_peer)};

    ofi_endpoints_each(cls, add_up, &summary);
    return tp_report_entries(
        lines, sizeof(lines) / sizeof(lines[0]), &summary, first, list, max);
}

static const na_plugin_report report = {
    .size = sizeof(report), .entries = entries};

static const void *
extension(na_plugin_class *cls, const char *id)
{
    if (strcmp(id, NA_PLUGIN_WAIT_ID) == 0 && cls->first->can_wait)
        return &ofi_wait;
    if (strcmp(id, NA_PLUGIN_MULTI_RECV_ID) == 0)
        return &cls->multi;
    if (strcmp(id, NA_PLUGIN_REPORT_ID) == 0)
        return &report;
    return NULL;
}

static const na_plugin_ops ops = {
    .size = sizeof(ops),
    .ctx_create = ofi_class_create_context,
    .ctx_destroy = ofi_ctx_destroy,
    .addr_self = ofi_addr_self,
    .addr_lookup = ofi_addr_lookup,
    .addr_dup = ofi_addr_dup,
    .addr_free = ofi_addr_release,
    .addr_equal = ofi_addr_equal,
    .addr_hash = ofi_addr_hash,
    .addr_to_string = ofi_addr_to_string,
    .addr_serialize = ofi_addr_serialize,
    .addr_deserialize = ofi_addr_deserialize,
    .addr_forget = ofi_addr_forget,
    .buf_alloc = tp_buf_alloc,
    .buf_free = tp_buf_free,
    .buf_init = tp_buf_init,
    .send_unexpected = ofi_send_unexpected,
    .recv_unexpected = ofi_recv_unexpected,
    .send_expected = ofi_send_expected,
    .recv_expected = ofi_recv_expected,
    .mem_register = ofi_mem_register,
    .mem_deregister = ofi_mem_deregister,
    .mem_serialize = ofi_mem_serialize,
    .mem_deserialize = ofi_mem_deserialize,
    .mem_remote_free = ofi_mem_free,
    .put = ofi_rma_put,
    .get = ofi_rma_get,
    .poll = ofi_progress_poll,
    .cancel = ofi_progress_cancel,
    .extension = extension,
};

/* Says what of the wishes is not heard. */
static void
mention_ignored(const na_plugin_class *cls, const na_plugin_open_info *info)
{
    const struct fi_info *device = cls->first->info;
    bool ip = cls->trait->format == OFI_FORMAT_IP;
    const struct tp_offer offer = {.max_contexts = OFI_CONTEXTS,
        .device_memory = (device->caps & FI_HMEM) != 0,
        .auth_key = device->domain_attr->auth_key_size != 0,
        .subnet = ip,
        .ip = ip,
        .native = !ip,
        .traffic_classes = device->tx_attr->tclass != FI_TC_UNSPEC};

    tp_open_ignored(cls->host, info, &offer);
    if (cls->trait->format == OFI_FORMAT_STRING &&
        (info->host != NULL || info->device != NULL))
        TP_LOG(cls->host, INFO,
            "host and device are not used: provider %s has none to choose",
            cls->trait->provider);
}

static int32_t
make_class(const na_plugin_host *host, const na_plugin_open_info *info,
    na_plugin_class **cls_p)
{
    struct ofi_choice choice;

    ofi_quirks_prepare();
    int32_t ret = ofi_library_load(host);
    if (ret == NA_PLUGIN_OK)
        ret = ofi_info_choose(host, info, &choice);
    if (ret != NA_PLUGIN_OK)
        return ret;
    ret = ofi_class_new(host, info, &choice, cls_p);
    if (ret != NA_PLUGIN_OK)
        return ret;
    OFI_QUIRKS_CALL((*cls_p)->first, joined, (*cls_p)->first);
    ofi_endpoints_join((*cls_p)->first);
    mention_ignored(*cls_p, info);
    return NA_PLUGIN_OK;
}

static int32_t
open_class(const na_plugin_host *host, const na_plugin_open_info *info,
    na_plugin_opened *opened)
{
    struct ofi_signals signals;
    na_plugin_class *cls = NULL;

    int32_t ret = tp_open_check(host, info, opened);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (info->protocol == NULL || info->protocol[0] == '\0' ||
        strlen(info->protocol) >= FI_NAME_MAX) {
        TP_LOG(host, ERROR, "no protocol, or too long a one");
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    ofi_signals_note(&signals);
    ret = make_class(host, info, &cls);
    ofi_signals_restore(&signals);
    if (ret != NA_PLUGIN_OK)
        return ret;

    opened->features |= cls->conduct.features;
    if (cls->first->info->caps & FI_HMEM)
        opened->features |= NA_PLUGIN_FEATURE_MEM_DEVICE;
    if (cls->multi_endpoint)
        opened->features |= NA_PLUGIN_FEATURE_CTX_PARALLEL;
    opened->cls = cls;
    opened->ops = &ops;
    opened->op_size = sizeof(struct ofi_op);
    opened->op_align = _Alignof(struct ofi_op);
    opened->max_unexpected_size = cls->max_unexpected;
    opened->max_expected_size = cls->max_expected;
    opened->unexpected_header_size = 0;
    opened->expected_header_size = 0;
    opened->max_tag = OFI_TAG_MAX;
    opened->max_segments = OFI_SEGMENTS;
    opened->max_rma_size = 0;
    opened->max_contexts = cls->context_max;
    return NA_PLUGIN_OK;
}

NA_PLUGIN_EXPORT const na_plugin NA_PLUGIN_SYMBOL(ofi) = {
    .magic = NA_PLUGIN_MAGIC,
    .abi_major = NA_PLUGIN_ABI_MAJOR,
    .abi_minor = NA_PLUGIN_ABI_MINOR,
    .size = sizeof(na_plugin),
    .min_host_minor = 0,
    .name = "ofi",
    .version = OFI_VERSION,
    .protocols = ofi_protocols,
    .flags = NA_PLUGIN_OTHER_PROTOCOLS,
    .priority = 50,
    .info = ofi_info_list,
    .open = open_class,
    .close = ofi_class_destroy,
    .settings = settings,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin's one symbol, the table of its operations, and what may be asked of
 * it. */
#include <inttypes.h>
#include <string.h>

#include "common/open.h"

#include "class.h"
#include "class_settings.h"
#include "context.h"
#include "endpoints.h"
#include "info.h"
#include "lookup.h"
#include "match.h"
#include "mem.h"
#include "ofi.h"
#include "op.h"
#include "progress.h"
#include "quirk.h"
#include "report.h"
#include "rma.h"
#include "send.h"
#include "signals.h"
#include "wait.h"

#define FLAGS_KNOWN                                                            \
    (NA_PLUGIN_OPEN_LISTEN | NA_PLUGIN_OPEN_NO_BLOCK |                         \
        NA_PLUGIN_OPEN_NO_RETRY | NA_PLUGIN_OPEN_MEM_DEVICE)
static const void *
extension(na_plugin_class *cls, const char *id)
{
    if (strcmp(id, NA_PLUGIN_WAIT_ID) == 0 && cls->first->can_wait)
        return &ofi_wait;
    if (strcmp(id, NA_PLUGIN_MULTI_RECV_ID) == 0)
        return &cls->multi;
    if (strcmp(id, NA_PLUGIN_REPORT_ID) == 0)
        return &ofi_report;
    return NULL;
}

static const na_plugin_ops ops = {
    .size = sizeof(ops),
    .ctx_create = ofi_class_create_context,
    .ctx_destroy = ofi_ctx_destroy,
    .addr_self = ofi_addr_self,
    .addr_lookup = ofi_addr_lookup,
    .addr_dup = ofi_addr_dup,
    .addr_free = ofi_addr_free,
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

/* Refuses what this version does not know. */
static int32_t
check_info(const na_plugin_host *host, const na_plugin_open_info *info)
{
    if (info->size < NA_PLUGIN_OPEN_INFO_SIZE_1_0) {
        TP_LOG(host, ERROR, "open_info of %" PRIu32 " bytes is too short",
            info->size);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (info->protocol == NULL || info->protocol[0] == '\0' ||
        strlen(info->protocol) >= FI_NAME_MAX) {
        TP_LOG(host, ERROR, "no protocol was given, or too long a one");
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    if ((info->flags & ~FLAGS_KNOWN) != 0 ||
        info->addr_format > NA_PLUGIN_ADDR_NATIVE ||
        info->traffic_class > NA_PLUGIN_TC_NETWORK_CTRL) {
        TP_LOG(host, ERROR,
            "unknown among flags 0x%" PRIx32 ", address format %" PRIu32
            ", traffic class %" PRIu32,
            info->flags, info->addr_format, info->traffic_class);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (info->port > UINT16_MAX) {
        TP_LOG(host, ERROR, "port %" PRId32 " is above 65535", info->port);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    return NA_PLUGIN_OK;
}

/* Says what of the wishes is not heard. */
static void
mention_ignored(const na_plugin_class *cls, const na_plugin_open_info *info)
{
    const na_plugin_host *host = cls->host;

    if ((info->flags & NA_PLUGIN_OPEN_MEM_DEVICE) != 0 &&
        !(cls->first->info->caps & FI_HMEM))
        TP_LOG(host, INFO, "provider %s does not register device memory here",
            cls->trait->provider);
    if (info->auth_key != NULL &&
        cls->first->info->domain_attr->auth_key_size == 0)
        TP_LOG(host, WARNING, "provider %s uses no authorization key",
            cls->trait->provider);
    if (cls->trait->format != OFI_FORMAT_IP && info->ip_subnet != NULL)
        TP_LOG(host, INFO, "provider %s has no subnets: %s is ignored",
            cls->trait->provider, info->ip_subnet);
    if (cls->trait->format == OFI_FORMAT_STRING &&
        (info->host != NULL || info->device != NULL))
        TP_LOG(host, INFO, "provider %s has no hosts and devices to choose",
            cls->trait->provider);
    if (info->traffic_class != NA_PLUGIN_TC_UNSPEC &&
        cls->first->info->tx_attr->tclass == FI_TC_UNSPEC)
        TP_LOG(host, INFO, "provider %s has no traffic classes",
            cls->trait->provider);
    if (info->max_contexts > OFI_CONTEXTS)
        TP_LOG(host, INFO, "%" PRIu32 " contexts expected; at most %u",
            info->max_contexts, OFI_CONTEXTS);
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

    int32_t ret = check_info(host, info);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (opened->size < NA_PLUGIN_OPENED_SIZE_1_0) {
        TP_LOG(host, ERROR, "opened of %" PRIu32 " bytes is too short",
            opened->size);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    ofi_signals_note(&signals);
    ret = make_class(host, info, &cls);
    ofi_signals_restore(&signals);
    if (ret != NA_PLUGIN_OK)
        return ret;

    opened->features |= cls->conduct.features;
    if (cls->first->info->caps & FI_HMEM)
        opened->features |= NA_PLUGIN_FEATURE_MEM_DEVICE;
    if (cls->apart)
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
    .settings = ofi_class_settings,
};

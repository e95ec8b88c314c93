/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of open_info, and plain buffers. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/open.h"

#define FLAGS_KNOWN                                                            \
    (NA_PLUGIN_OPEN_LISTEN | NA_PLUGIN_OPEN_NO_BLOCK |                         \
        NA_PLUGIN_OPEN_NO_RETRY | NA_PLUGIN_OPEN_MEM_DEVICE)
#define LINE ((size_t) 64)

int32_t
tp_open_check(const na_plugin_host *host, const na_plugin_open_info *info,
    const na_plugin_opened *opened)
{
    bool info_short = info->size < NA_PLUGIN_OPEN_INFO_SIZE_1_0;
    if (info_short || opened->size < NA_PLUGIN_OPENED_SIZE_1_0) {
        TP_LOG(host, ERROR, "%s of %" PRIu32 " bytes is too short",
            info_short ? "open_info" : "opened",
            info_short ? info->size : opened->size);
        return NA_PLUGIN_E_INVALID_ARG;
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

void
tp_open_ignored(const na_plugin_host *host, const na_plugin_open_info *info,
    const struct tp_offer *offer)
{
    if ((info->flags & NA_PLUGIN_OPEN_MEM_DEVICE) != 0 && !offer->device_memory)
        TP_LOG(host, INFO, "device memory can't be registered");
    if (info->auth_key != NULL && !offer->auth_key)
        TP_LOG(host, WARNING, "the authorization key is not used");
    if (info->ip_subnet != NULL && !offer->subnet)
        TP_LOG(host, INFO, "no subnet is used: %.64s", info->ip_subnet);
    if ((info->addr_format == NA_PLUGIN_ADDR_IPV4 ||
            info->addr_format == NA_PLUGIN_ADDR_IPV6) &&
        !offer->ip)
        TP_LOG(host, INFO, "addresses are the transport's own, not of IP");
    if (info->addr_format == NA_PLUGIN_ADDR_NATIVE && !offer->native)
        TP_LOG(host, INFO, "addresses are of IP");
    if (info->traffic_class > NA_PLUGIN_TC_BEST_EFFORT &&
        !offer->traffic_classes)
        TP_LOG(host, INFO, "there are no traffic classes");
    if (info->max_contexts > offer->max_contexts)
        TP_LOG(host, INFO, "%" PRIu32 " contexts expected; at most %" PRIu32,
            info->max_contexts, offer->max_contexts);
}

uint32_t
tp_open_message_size(const na_plugin_host *host, uint64_t wanted,
    uint32_t usual, uint32_t most, const char *kind)
{
    if (wanted == 0)
        return usual;
    if (wanted <= most)
        return (uint32_t) wanted;
    TP_LOG(host, INFO,
        "%s messages of %" PRIu64 " bytes wanted; at most %" PRIu32, kind,
        wanted, most);
    return most;
}

int32_t
tp_buf_alloc(na_plugin_class *cls, uint64_t length, uint32_t kinds,
    void **buffer_p, void **buffer_data_p)
{
    if (length > SIZE_MAX - LINE)
        return NA_PLUGIN_E_NOMEM;
    size_t rounded = ((size_t) length + LINE - 1) & ~(LINE - 1);
    void *buffer = aligned_alloc(LINE, rounded != 0 ? rounded : LINE);
    if (buffer == NULL)
        return NA_PLUGIN_E_NOMEM;
    *buffer_p = buffer;
    *buffer_data_p = NULL;
    return NA_PLUGIN_OK;
}

void
tp_buf_free(na_plugin_class *cls, void *buffer, void *buffer_data)
{
    free(buffer);
}

int32_t
tp_buf_init(na_plugin_class *cls, void *buffer, uint64_t length, uint32_t kind)
{
    return NA_PLUGIN_OK;
}

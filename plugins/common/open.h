/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening a class: what na_plugin_open_info may ask for, what is then ignored, and
 * buffers without a header of the plugin's. */
#ifndef TP_OPEN_H
#define TP_OPEN_H

#include <stdbool.h>

#include "na_plugin.h"

/* What a transport can honour. */
struct tp_offer {
    uint32_t max_contexts;
    bool device_memory;
    bool auth_key;
    bool subnet;
    bool ip;     /* addresses are of IPv4 or IPv6 */
    bool native; /* or of the transport's own */
    bool traffic_classes;
};

/* Refuses what this version of the ABI does not know: INVALID_ARG, logged. The
 * protocol is the plugin's to check. */
int32_t tp_open_check(const na_plugin_host *host,
    const na_plugin_open_info *info, const na_plugin_opened *opened);

/* Names once each what is asked for and not offered, as the ABI demands. */
void tp_open_ignored(const na_plugin_host *host,
    const na_plugin_open_info *info, const struct tp_offer *offer);

/* The size of messages: usual if none is wanted, at most most, which is logged.
 * kind: "unexpected" or "expected". */
uint32_t tp_open_message_size(const na_plugin_host *host, uint64_t wanted,
    uint32_t usual, uint32_t most, const char *kind);

/* buf_alloc, buf_free and buf_init of plugins that have no header in the core's
 * buffers: aligned to cache lines. */
int32_t tp_buf_alloc(na_plugin_class *cls, uint64_t length, uint32_t kinds,
    void **buffer_p, void **buffer_data_p);
void tp_buf_free(na_plugin_class *cls, void *buffer, void *buffer_data);
int32_t tp_buf_init(
    na_plugin_class *cls, void *buffer, uint64_t length, uint32_t kind);

#endif /* TP_OPEN_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* "na.report/1": choices made at open, then counters. */
#include <stddef.h>

#include "report.h"

static const struct {
    const char *name;
    size_t offset; /* in struct ucx_counters */
} counters[] = {
    {"peers_connected", offsetof(struct ucx_counters, conns)},
    {"messages_sent", offsetof(struct ucx_counters, sent)},
    {"messages_received", offsetof(struct ucx_counters, received)},
    {"messages_to_self", offsetof(struct ucx_counters, self)},
    {"sends_copied", offsetof(struct ucx_counters, copied)},
    {"sends_queued", offsetof(struct ucx_counters, stalls)},
    {"unexpected_queued", offsetof(struct ucx_counters, queued)},
    {"expected_dropped", offsetof(struct ucx_counters, dropped)},
    {"messages_strayed", offsetof(struct ucx_counters, strayed)},
    {"messages_malformed", offsetof(struct ucx_counters, malformed)},
    {"connections_made", offsetof(struct ucx_counters, connects)},
    {"connections_lost", offsetof(struct ucx_counters, losses)},
    {"connections_retired", offsetof(struct ucx_counters, retired)},
    {"connections_broken", offsetof(struct ucx_counters, broken)},
    {"put_bytes", offsetof(struct ucx_counters, put_bytes)},
    {"get_bytes", offsetof(struct ucx_counters, get_bytes)},
    {"rma_native_bytes", offsetof(struct ucx_counters, native_bytes)},
    {"rma_message_bytes", offsetof(struct ucx_counters, message_bytes)},
    {"rma_self_bytes", offsetof(struct ucx_counters, self_bytes)},
};

#define CHOICES 6U
#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

static na_plugin_report_entry
choice(const na_plugin_class *cls, uint32_t index)
{
    switch (index) {
    case 0:
        return (na_plugin_report_entry){
            .name = "ucx_version", .text = ucp_get_version_string()};
    case 1:
        return (na_plugin_report_entry){
            .name = "address", .text = cls->self->name};
    case 2:
        return (na_plugin_report_entry){.name = "transports",
            .text = cls->tls[0] != '\0' ? cls->tls : "all"};
    case 3:
        return (na_plugin_report_entry){.name = "devices",
            .text = cls->devices[0] != '\0' ? cls->devices : "all"};
    case 4:
        return (na_plugin_report_entry){
            .name = "locks", .text = cls->single ? "none" : "yes"};
    default:
        return (na_plugin_report_entry){
            .name = "window_bytes", .value = cls->window};
    }
}

static uint32_t
entries(na_plugin_class *cls, uint32_t first, na_plugin_report_entry *list,
    uint32_t max)
{
    uint32_t count = 0;

    for (uint32_t i = first; i < CHOICES + COUNTERS && count < max; i++) {
        if (i < CHOICES) {
            list[count++] = choice(cls, i);
            continue;
        }
        const _Atomic uint64_t *counter =
            (const void *) ((const char *) &cls->counters +
                            counters[i - CHOICES].offset);
        list[count++] =
            (na_plugin_report_entry){.name = counters[i - CHOICES].name,
                .value = atomic_load_explicit(counter, memory_order_relaxed)};
    }
    return count;
}

const na_plugin_report ucx_report = {
    .size = sizeof(ucx_report),
    .entries = entries,
};

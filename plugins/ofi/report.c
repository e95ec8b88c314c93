/* SPDX-License-Identifier: BSD-3-Clause */
/* The report: choices made at open, then counters. */
#include <stddef.h>
#include <string.h>

#include "addr.h"
#include "endpoints.h"
#include "ofi.h"
#include "pool.h"
#include "report.h"

static const struct {
    const char *name;
    size_t offset; /* in struct ofi_counters */
} counters[] = {
    {"messages_sent", offsetof(struct ofi_counters, sent)},
    {"messages_injected", offsetof(struct ofi_counters, injected)},
    {"messages_received", offsetof(struct ofi_counters, received)},
    {"messages_to_self", offsetof(struct ofi_counters, to_self)},
    {"sends_queued", offsetof(struct ofi_counters, queued)},
    {"eagain_retries", offsetof(struct ofi_counters, eagain_retries)},
    {"unexpected_queued", offsetof(struct ofi_counters, kept_unexpected)},
    {"expected_dropped", offsetof(struct ofi_counters, dropped_expected)},
    {"forwarded", offsetof(struct ofi_counters, forwarded)},
    {"strayed", offsetof(struct ofi_counters, strayed)},
    {"malformed", offsetof(struct ofi_counters, malformed)},
    {"messages_lost", offsetof(struct ofi_counters, no_memory)},
    {"pings", offsetof(struct ofi_counters, pings)},
    {"knocks", offsetof(struct ofi_counters, probes)},
    {"silent_connections", offsetof(struct ofi_counters, silent)},
    {"peers_lost", offsetof(struct ofi_counters, lost)},
    {"peers_replaced", offsetof(struct ofi_counters, replaced)},
    {"put_bytes", offsetof(struct ofi_counters, put_bytes)},
    {"get_bytes", offsetof(struct ofi_counters, get_bytes)},
    {"fragments", offsetof(struct ofi_counters, fragments)},
    {"completion_errors", offsetof(struct ofi_counters, completion_errors)},
};

#define COUNTERS (sizeof(counters) / sizeof(counters[0]))
#define CHOICES 14U

static void
list_choices(
    const na_plugin_class *cls, na_plugin_report_entry choices[CHOICES])
{
    const struct ofi_endpoint *first = cls->first;
    const na_plugin_report_entry all[CHOICES] = {
        {.name = "provider", .text = cls->text_provider},
        {.name = "libfabric", .text = cls->text_version},
        {.name = "fabric", .text = first->info->fabric_attr->name},
        {.name = "device", .text = first->info->domain_attr->name},
        {.name = "device_choice", .text = cls->text_why},
        {.name = "registration_modes", .text = cls->text_mr},
        {.name = "wait", .text = first->can_wait ? "descriptor" : "none"},
        {.name = "locks", .text = cls->single ? "none" : "yes"},
        {.name = "put_completion",
            .text = cls->delivery ? "delivery" : "read back"},
        {.name = "inject_bytes", .value = first->inject_size},
        {.name = "receive_buffers", .value = first->rx_count},
        {.name = "receives",
            .text = first->rx_multi ? "many a buffer" : "one a buffer"},
        {.name = "peers", .value = first->names_count},
        {.name = "peer_bytes",
            .value = sizeof(struct na_plugin_addr) + sizeof(void *)},
    };
    memcpy(choices, all, sizeof(all));
}

/* Of all endpoints of a class. */
struct sums {
    struct ofi_counters counters;
    uint64_t copies;
    uint64_t lanes;
};

static void
add_up(struct ofi_endpoint *ep, void *arg)
{
    struct sums *sums = arg;
    uint64_t *to = (void *) &sums->counters;
    const uint64_t *from = (const void *) &ep->counters;

    tp_lock_take(&ep->lock);
    for (size_t i = 0; i < sizeof(sums->counters) / sizeof(*to); i++)
        to[i] += from[i];
    sums->copies += ofi_pool_bytes(ep);
    sums->lanes += !ofi_is_first(ep);
    tp_lock_drop(&ep->lock);
}

static uint32_t
entries(na_plugin_class *cls, uint32_t first, na_plugin_report_entry *list,
    uint32_t max)
{
    na_plugin_report_entry choices[CHOICES];
    struct sums sums = {0};
    uint32_t count = 0;

    ofi_endpoints_each(cls, add_up, &sums);
    tp_lock_take(&cls->first->lock);
    list_choices(cls, choices);
    for (uint32_t i = first; i < CHOICES + COUNTERS + 2 && count < max; i++) {
        if (i < CHOICES) {
            list[count++] = choices[i];
            continue;
        }
        if (i >= CHOICES + COUNTERS) {
            list[count++] =
                i == CHOICES + COUNTERS
                    ? (na_plugin_report_entry){.name = "copies_bytes",
                          .value = sums.copies}
                    : (na_plugin_report_entry){
                          .name = "lanes", .value = sums.lanes};
            continue;
        }
        const char *base = (const char *) &sums.counters;
        const uint64_t *counter =
            (const void *) (base + counters[i - CHOICES].offset);
        list[count++] = (na_plugin_report_entry){
            .name = counters[i - CHOICES].name, .value = *counter};
    }
    tp_lock_drop(&cls->first->lock);
    return count;
}

const na_plugin_report ofi_report = {
    .size = sizeof(ofi_report),
    .entries = entries,
};

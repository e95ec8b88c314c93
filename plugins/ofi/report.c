/* SPDX-License-Identifier: BSD-3-Clause */
/* The report: choices made at open, then counters. */
#include <stddef.h>

#include "lane.h"
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
    {"knocks", offsetof(struct ofi_counters, knocks)},
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

static na_plugin_report_entry
choice(const na_plugin_class *cls, uint32_t index)
{
    switch (index) {
    case 0:
        return (na_plugin_report_entry){
            .name = "provider", .text = cls->text_provider};
    case 1:
        return (na_plugin_report_entry){
            .name = "libfabric", .text = cls->text_version};
    case 2:
        return (na_plugin_report_entry){
            .name = "fabric", .text = cls->info->fabric_attr->name};
    case 3:
        return (na_plugin_report_entry){
            .name = "device", .text = cls->info->domain_attr->name};
    case 4:
        return (na_plugin_report_entry){
            .name = "device_choice", .text = cls->text_why};
    case 5:
        return (na_plugin_report_entry){
            .name = "registration_modes", .text = cls->text_mr};
    case 6:
        return (na_plugin_report_entry){
            .name = "wait", .text = cls->can_wait ? "descriptor" : "none"};
    case 7:
        return (na_plugin_report_entry){
            .name = "locks", .text = cls->single ? "none" : "yes"};
    case 8:
        return (na_plugin_report_entry){.name = "put_completion",
            .text = cls->delivery ? "delivery" : "read back"};
    case 9:
        return (na_plugin_report_entry){
            .name = "inject_bytes", .value = cls->inject_size};
    case 10:
        return (na_plugin_report_entry){
            .name = "receive_buffers", .value = cls->rx_count};
    case 11:
        return (na_plugin_report_entry){.name = "receives",
            .text = cls->rx_multi ? "many a buffer" : "one a buffer"};
    case 12:
        return (na_plugin_report_entry){
            .name = "peers", .value = cls->names_count};
    default:
        return (na_plugin_report_entry){.name = "peer_bytes",
            .value = sizeof(struct na_plugin_addr) + sizeof(void *)};
    }
}

/* Of a class and all its lanes. */
struct sums {
    struct ofi_counters counters;
    uint64_t copies;
    uint64_t lanes;
};

static void
add_up(na_plugin_class *cls, void *arg)
{
    struct sums *sums = arg;
    uint64_t *to = (void *) &sums->counters;
    const uint64_t *from = (const void *) &cls->counters;

    ofi_lock_take(&cls->lock);
    for (size_t i = 0; i < sizeof(sums->counters) / sizeof(*to); i++)
        to[i] += from[i];
    sums->copies += ofi_pool_bytes(cls);
    sums->lanes += cls->main != cls;
    ofi_lock_drop(&cls->lock);
}

static uint32_t
entries(na_plugin_class *cls, uint32_t first, na_plugin_report_entry *list,
    uint32_t max)
{
    struct sums sums = {0};
    uint32_t count = 0;

    ofi_lane_each(cls, add_up, &sums);
    ofi_lock_take(&cls->lock);
    for (uint32_t i = first; i < CHOICES + COUNTERS + 2 && count < max; i++) {
        if (i < CHOICES) {
            list[count++] = choice(cls, i);
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
    ofi_lock_drop(&cls->lock);
    return count;
}

const na_plugin_report ofi_report = {
    .size = sizeof(ofi_report),
    .entries = entries,
};

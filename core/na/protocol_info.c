/* SPDX-License-Identifier: BSD-3-Clause */
/* Listing the devices that plugins support, without opening a class. */
#include "na.h"

#include "base/error.h"
#include "base/log.h"
#include "na/class.h"
#include "na/violation.h"
#include "plugin/info_string.h"
#include "plugin/resolve.h"
#include "setting/setting.h"

#include <stdlib.h>
#include <string.h>

struct listing {
    const char *protocol; /* NULL: all */
    bool named;           /* one plugin is asked, and its result returned */
    const na_plugin *plugin;
    struct na_protocol_info *first;
    struct na_protocol_info **end;
    bool out_of_memory;
    bool broken; /* the plugin violated the ABI */
    const struct na_class *asked;
};

static char *
copy(const char *text)
{
    return strdup(text ? text : "");
}

static void
entry_free(struct na_protocol_info *entry)
{
    free(entry->class_name);
    free(entry->protocol_name);
    free(entry->device_name);
    free(entry);
}

static void
found(void *arg, const na_plugin_device *device)
{
    struct listing *listing = arg;
    struct na_protocol_info *entry;

    if (!listing || listing->broken)
        return;
    if (!device || device->size < NA_PLUGIN_DEVICE_SIZE_1_0 ||
        !device->protocol) {
        /* Reported once for each plugin, since there may be many devices. */
        listing->broken = true;
        na_violation(listing->asked, "info calls found with %s",
            !device ? "NULL"
            : device->size < NA_PLUGIN_DEVICE_SIZE_1_0
                ? "a table shorter than in 1.0"
                : "a device without protocol");
        return;
    }
    entry = calloc(1, sizeof *entry);
    if (!entry) {
        listing->out_of_memory = true;
        return;
    }
    entry->class_name = copy(listing->plugin->name);
    entry->protocol_name = copy(device->protocol);
    entry->device_name = copy(device->name);
    if (!entry->class_name || !entry->protocol_name || !entry->device_name) {
        entry_free(entry);
        listing->out_of_memory = true;
        return;
    }
    *listing->end = entry;
    listing->end = &entry->next;
}

static na_return_t
visit(void *arg, const na_plugin *plugin)
{
    struct listing *listing = arg;
    struct na_class asking = {.plugin = plugin};
    char fault[SETTING_FAULT_SIZE];
    int32_t code;
    na_return_t ret = setting_values_read(
        &asking.settings, plugin->settings, NULL, fault, sizeof fault);

    if (ret != NA_SUCCESS) {
        LOG_ERROR(NA, "plugin %s not listed: %s", plugin->name, fault);
        return listing->named || ret == NA_NOMEM ? ret : NA_SUCCESS;
    }
    na_host_init(&asking);
    listing->plugin = plugin;
    listing->asked = &asking;
    listing->broken = false;
    code = plugin->info(&asking.host, listing->protocol, listing, found);
    free(asking.open_error);
    setting_values_finish(&asking.settings);
    if (listing->out_of_memory)
        return NA_NOMEM;
    ret = na_result(&asking, "info", code);
    if (listing->broken)
        ret = NA_PROTOCOL_ERROR;
    return listing->named ? ret : NA_SUCCESS;
}

na_return_t
NA_Get_protocol_info(
    const char *info_string, struct na_protocol_info **na_protocol_info_p)
{
    struct plugin_info info = {0};
    struct listing listing = {0};
    na_return_t ret = NA_SUCCESS;

    if (!na_protocol_info_p)
        return NA_INVALID_ARG;
    base_log_init();
    if (info_string)
        ret = plugin_info_parse(info_string, &info);
    if (ret != NA_SUCCESS)
        return ret;
    listing.protocol = info.protocol;
    listing.named = info.plugin != NULL;
    listing.end = &listing.first;
    ret = plugin_each(info.plugin, info.protocol, visit, &listing);
    plugin_info_finish(&info);
    if (ret != NA_SUCCESS) {
        NA_Free_protocol_info(listing.first);
        return ret;
    }
    *na_protocol_info_p = listing.first;
    return NA_SUCCESS;
}

void
NA_Free_protocol_info(struct na_protocol_info *na_protocol_info)
{
    while (na_protocol_info) {
        struct na_protocol_info *next = na_protocol_info->next;

        entry_free(na_protocol_info);
        na_protocol_info = next;
    }
}

void
NA_Diag_dump_counters(void)
{
    LOG_INFO(NA, "counters belong to a class: see HG_Class_get_counters and "
                 "talaria_class_report");
}

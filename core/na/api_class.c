/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing a class: from an info string to a plugin's class. */
#include "na/class.h"

#include "na.h"
#include "na/violation.h"
#include "talaria.h"

#include "base/error.h"
#include "base/log.h"
#include "plugin/info_string.h"
#include "plugin/report.h"
#include "plugin/resolve.h"
#include "setting/setting.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits a wanted message size to what a plugin accepts. */
static uint64_t
message_size(uint64_t wanted, const char *kind)
{
    uint64_t size = wanted;

    if (wanted > 0 && wanted < NA_PLUGIN_MESSAGE_SIZE_MIN)
        size = NA_PLUGIN_MESSAGE_SIZE_MIN;
    else if (wanted > NA_PLUGIN_MESSAGE_SIZE_MAX)
        size = NA_PLUGIN_MESSAGE_SIZE_MAX;
    if (size != wanted)
        LOG_INFO(NA, "%s message size %llu changed to %llu", kind,
            (unsigned long long) wanted, (unsigned long long) size);
    return size;
}

static na_return_t
fill_open_info(na_plugin_open_info *open_info, struct plugin_info *info,
    const na_plugin *plugin, bool listen, const struct na_init_info *init)
{
    uint32_t flags = listen ? NA_PLUGIN_OPEN_LISTEN : 0;

    if (init->progress_mode & ~(NA_NO_BLOCK | NA_NO_RETRY) ||
        init->thread_mode & ~NA_THREAD_MODE_SINGLE ||
        init->addr_format > NA_ADDR_NATIVE ||
        init->traffic_class > NA_TC_NETWORK_CTRL) {
        LOG_ERROR(NA,
            "an init option is out of range: progress_mode %u, thread_mode "
            "%u, addr_format %d, traffic_class %d",
            init->progress_mode, init->thread_mode, (int) init->addr_format,
            (int) init->traffic_class);
        return NA_INVALID_ARG;
    }
    if (init->progress_mode & NA_NO_BLOCK)
        flags |= NA_PLUGIN_OPEN_NO_BLOCK;
    if (init->progress_mode & NA_NO_RETRY)
        flags |= NA_PLUGIN_OPEN_NO_RETRY;
    if (init->request_mem_device)
        flags |= NA_PLUGIN_OPEN_MEM_DEVICE;
    if (!(plugin->flags & NA_PLUGIN_OPAQUE_NAME)) {
        na_return_t ret = plugin_info_split(info);

        if (ret != NA_SUCCESS)
            return ret;
    }
    *open_info = (na_plugin_open_info){
        .size = sizeof *open_info,
        .flags = flags,
        .protocol = info->protocol,
        .name = info->name,
        .device = info->device,
        .host = info->host,
        .port = info->port,
        .thread_mode = init->thread_mode,
        .ip_subnet = init->ip_subnet,
        .auth_key = init->auth_key,
        .max_unexpected_size =
            message_size(init->max_unexpected_size, "unexpected"),
        .max_expected_size = message_size(init->max_expected_size, "expected"),
        .addr_format = init->addr_format,
        .traffic_class = init->traffic_class,
        .max_contexts = init->max_contexts > 0 ? init->max_contexts : 1,
    };
    return NA_SUCCESS;
}

/* Returns the table of an extension, or NULL if it is missing or too small: a
 * table begins with its size, which must be at least that of 1.0. */
static const void *
find_extension(const struct na_class *na_class, const char *id, uint32_t size)
{
    const uint32_t *table = na_class->ops.extension(na_class->plugin_class, id);

    if (table && *table < size) {
        LOG_WARNING(NA, "%s: table of %s is %u bytes, %u expected: not used",
            na_class->plugin->name, id, *table, size);
        return NULL;
    }
    return table;
}

/* Returns `there`: whether an extension of the plugin has a function. Logs it if
 * not. */
static bool
has_entry(const struct na_class *na_class, const char *id, const char *entry,
    bool there)
{
    if (!there)
        na_violation(na_class, "%s has no %s: it is not used", id, entry);
    return there;
}

/* Gets the plugin's usable extensions. */
static void
find_extensions(struct na_class *na_class)
{
    const na_plugin_wait *wait =
        na_class->no_block ? NULL
                           : find_extension(na_class, NA_PLUGIN_WAIT_ID,
                                 NA_PLUGIN_WAIT_SIZE_1_0);
    const na_plugin_multi_recv *multi = find_extension(
        na_class, NA_PLUGIN_MULTI_RECV_ID, NA_PLUGIN_MULTI_RECV_SIZE_1_0);
    const na_plugin_mem_alloc *memory = find_extension(
        na_class, NA_PLUGIN_MEM_ALLOC_ID, NA_PLUGIN_MEM_ALLOC_SIZE_1_0);
    const na_plugin_report *report = find_extension(
        na_class, NA_PLUGIN_REPORT_ID, NA_PLUGIN_REPORT_SIZE_1_0);

    if (wait && has_entry(na_class, NA_PLUGIN_WAIT_ID, "fd", wait->fd) &&
        has_entry(na_class, NA_PLUGIN_WAIT_ID, "arm", wait->arm))
        na_class->wait = wait;
    if (multi && has_entry(na_class, NA_PLUGIN_MULTI_RECV_ID, "recv_multi",
                     multi->recv_multi))
        na_class->multi_recv = multi;
    if (memory &&
        has_entry(na_class, NA_PLUGIN_MEM_ALLOC_ID, "alloc", memory->alloc) &&
        has_entry(na_class, NA_PLUGIN_MEM_ALLOC_ID, "free", memory->free))
        na_class->mem_alloc = memory;
    if (report &&
        has_entry(na_class, NA_PLUGIN_REPORT_ID, "entries", report->entries))
        na_class->report = report;
}

/* Takes over what the plugin opened. fault: the reason if it is invalid. */
static na_return_t
adopt(struct na_class *na_class, char *fault, size_t size)
{
    const char *missing;

    if (!na_opened_check(na_class->plugin, &na_class->opened, fault, size))
        return NA_PROTOCOL_ERROR;
    if (na_ops_copy(&na_class->ops, na_class->opened.ops, &missing) !=
        NA_SUCCESS) {
        snprintf(fault, size, "ops.%s is NULL", missing);
        return NA_PROTOCOL_ERROR;
    }
    na_class->plugin_class = na_class->opened.cls;
    find_extensions(na_class);
    return NA_SUCCESS;
}

/* Adds a failed open to the report. If the plugin has logged a reason, that is
 * the text, else what the core knows. */
static void
report_failure(const struct na_class *na_class, struct plugin_report *report,
    na_return_t ret, const char *fault)
{
    const na_plugin *plugin = na_class->plugin;
    const char *reason = *fault ? fault : na_class->open_error;

    plugin_report_add(report,
        ret == NA_PROTONOSUPPORT ? TALARIA_STAGE_PROTOCOL : TALARIA_STAGE_OPEN,
        plugin_path(plugin), plugin->name, ret, "%s",
        reason ? reason : base_error_name((int) ret));
    if (reason != na_class->open_error || !reason)
        plugin_report_log(report);
}

/* Handles a result of open other than OK. */
static na_return_t
open_failed(int32_t code, char *fault, size_t size)
{
    if (code < 0 && code > -NA_RETURN_MAX)
        return (na_return_t) -code;
    snprintf(
        fault, size, "open returned %d, which is not a code of the ABI", code);
    return code < 0 ? NA_IO_ERROR : NA_PROTOCOL_ERROR;
}

static na_return_t
open_plugin(struct na_class *na_class, const na_plugin_open_info *open_info,
    struct plugin_report *report)
{
    const na_plugin *plugin = na_class->plugin;
    char fault[96] = "";
    int32_t code;
    na_return_t ret;

    na_class->opened.size = sizeof na_class->opened;
    code = plugin->open(&na_class->host, open_info, &na_class->opened);
    if (code == NA_PLUGIN_OK) {
        ret = adopt(na_class, fault, sizeof fault);
        if (ret != NA_SUCCESS && na_class->opened.cls)
            plugin->close(na_class->opened.cls);
    } else {
        ret = open_failed(code, fault, sizeof fault);
    }
    if (ret != NA_SUCCESS)
        report_failure(na_class, report, ret, fault);
    return ret;
}

static void
class_free(struct na_class *na_class)
{
    setting_values_finish(&na_class->settings);
    free(na_class->open_error);
    free(na_class->protocol);
    free(na_class);
}

/* Reads the plugin's settings for this class. */
static na_return_t
read_settings(struct na_class *na_class, const struct na_class_args *args,
    struct plugin_report *report)
{
    const na_plugin *plugin = na_class->plugin;
    const na_plugin_setting *const *lists[] = {plugin->settings, args->taken};
    char fault[SETTING_FAULT_SIZE];
    na_return_t ret = setting_values_read(&na_class->settings, plugin->settings,
        args->pairs, fault, sizeof fault);

    if (ret == NA_SUCCESS && args->pairs && !args->pairs_of_others &&
        !setting_pairs_all_taken(args->pairs, lists, 2, fault, sizeof fault))
        ret = NA_INVALID_ARG;
    if (ret == NA_SUCCESS) {
        setting_warn_unknown(plugin->settings);
        return NA_SUCCESS;
    }
    plugin_report_add(report, TALARIA_STAGE_OPEN, plugin_path(plugin),
        plugin->name, ret, "%s", fault);
    plugin_report_log(report);
    return ret;
}

static na_return_t
class_open(struct plugin_info *info, struct plugin_report *report,
    const struct na_class_args *args, struct na_class **na_class_p)
{
    const struct na_init_info *init = args->init;
    const na_plugin *plugin;
    na_plugin_open_info open_info;
    struct na_class *na_class;
    na_return_t ret = plugin_resolve(info, report, &plugin);

    if (ret != NA_SUCCESS)
        return ret;
    ret = fill_open_info(&open_info, info, plugin, args->listen, init);
    if (ret != NA_SUCCESS) {
        plugin_report_add(report, TALARIA_STAGE_OPEN, plugin_path(plugin),
            plugin->name, ret, "an init option or the name is out of range");
        return ret;
    }
    na_class = calloc(1, sizeof *na_class);
    if (!na_class) {
        plugin_report_add(report, TALARIA_STAGE_OPEN, NULL, plugin->name,
            NA_NOMEM, "out of memory");
        return NA_NOMEM;
    }
    na_class->plugin = plugin;
    na_class->listen = args->listen;
    na_class->no_block = (init->progress_mode & NA_NO_BLOCK) != 0;
    na_class->single_class =
        (init->thread_mode & NA_THREAD_MODE_SINGLE_CLS) != 0;
    na_class->single_context =
        (init->thread_mode & NA_THREAD_MODE_SINGLE_CTX) != 0;
    na_class->max_contexts = (uint8_t) open_info.max_contexts;
    base_lock_init(&na_class->setup_lock, na_class->single_class);
    base_lock_init(&na_class->ops_lock, na_class->single_class);
    LIST_INIT(&na_class->op_ids);
    na_host_init(na_class);
    na_class->protocol = strdup(info->protocol);
    ret = NA_NOMEM;
    if (na_class->protocol)
        ret = read_settings(na_class, args, report);
    else
        report_failure(na_class, report, ret, "out of memory");
    if (ret == NA_SUCCESS)
        ret = open_plugin(na_class, &open_info, report);
    if (ret != NA_SUCCESS) {
        class_free(na_class);
        return ret;
    }
    *na_class_p = na_class;
    return NA_SUCCESS;
}

static na_return_t
open_reported(const struct na_class_args *args, struct plugin_report *report,
    struct na_class **na_class_p)
{
    struct plugin_info info;
    na_return_t ret = plugin_info_parse(args->info_string, &info);

    if (ret != NA_SUCCESS) {
        plugin_report_set_string(report, args->info_string);
        plugin_report_add(report, TALARIA_STAGE_INFO_STRING, NULL, NULL, ret,
            "%s",
            ret == NA_NOMEM ? "out of memory"
                            : plugin_info_fault(args->info_string, false));
        return ret;
    }
    ret = class_open(&info, report, args, na_class_p);
    plugin_info_finish(&info);
    return ret;
}

na_return_t
na_class_open(const struct na_class_args *args, na_class_t **na_class_p)
{
    struct plugin_report *report;
    na_return_t ret;

    base_log_init();
    if (!args->info_string) {
        LOG_ERROR(NA, "no info string");
        return NA_INVALID_ARG;
    }
    report = plugin_report_create();
    ret = open_reported(args, report, na_class_p);
    plugin_report_publish(report);
    return ret;
}

na_return_t
na_class_try_open(const struct na_class_args *args, char *why, size_t size,
    na_class_t **na_class_p)
{
    struct plugin_report *report = plugin_report_create();
    na_return_t ret;

    plugin_report_silence(report);
    ret = open_reported(args, report, na_class_p);
    if (ret != NA_SUCCESS)
        snprintf(why, size, "%s", plugin_report_text(report));
    plugin_report_destroy(report);
    return ret;
}

/* Copies the fields of an interface version over the defaults. */
static struct na_init_info
read_init_info(const struct na_init_info *given, unsigned int version)
{
    struct na_init_info init = NA_INIT_INFO_INITIALIZER;

    if (given && NA_VERSION_GE(version, NA_VERSION(5, 0)))
        init = *given;
    else if (given)
        memcpy(&init, given, offsetof(struct na_init_info, traffic_class));
    return init;
}

na_return_t
talaria_na_initialize(const char *info_string, bool listen,
    unsigned int version, const struct na_init_info *na_init_info,
    const char *const *settings, na_class_t **na_class_p)
{
    struct na_init_info init = read_init_info(na_init_info, version);
    struct setting_pairs pairs;
    char fault[SETTING_FAULT_SIZE];
    na_return_t ret;

    base_log_init();
    if (!na_class_p) {
        LOG_ERROR(NA, "na_class_p is NULL");
        return NA_INVALID_ARG;
    }
    ret = setting_pairs_init(&pairs, settings, fault, sizeof fault);
    if (ret != NA_SUCCESS) {
        LOG_ERROR(NA, "%s", fault);
        return ret;
    }
    ret = na_class_open(&(struct na_class_args){.info_string = info_string,
                            .listen = listen,
                            .init = &init,
                            .pairs = &pairs},
        na_class_p);
    setting_pairs_finish(&pairs);
    return ret;
}

na_class_t *
NA_Initialize(const char *info_string, bool listen)
{
    return NA_Initialize_opt2(info_string, listen, NA_VERSION(5, 0), NULL);
}

na_class_t *
NA_Initialize_opt(const char *info_string, bool listen,
    const struct na_init_info *na_init_info)
{
    return NA_Initialize_opt2(
        info_string, listen, NA_VERSION(4, 0), na_init_info);
}

na_class_t *
NA_Initialize_opt2(const char *info_string, bool listen, unsigned int version,
    const struct na_init_info *na_init_info)
{
    na_class_t *na_class;
    na_return_t ret = talaria_na_initialize(
        info_string, listen, version, na_init_info, NULL, &na_class);

    return ret == NA_SUCCESS ? na_class : NULL;
}

na_return_t
NA_Finalize(na_class_t *na_class)
{
    uint32_t contexts, addrs;

    if (!na_class)
        return NA_SUCCESS;
    contexts =
        atomic_load_explicit(&na_class->context_count, memory_order_relaxed);
    addrs = atomic_load_explicit(&na_class->addr_count, memory_order_relaxed);
    if (contexts > 0 || addrs > 0) {
        LOG_ERROR(NA, "class %s+%s still has %u contexts and %u addresses",
            na_class->plugin->name, na_class->protocol, contexts, addrs);
        return NA_BUSY;
    }
    na_class->plugin->close(na_class->plugin_class);
    class_free(na_class);
    return NA_SUCCESS;
}

void
NA_Cleanup(void)
{
    plugin_cleanup();
}

void
NA_Set_log_level(const char *level)
{
    base_log_init();
    base_log_set_level(level);
}

void
NA_Version_get(unsigned int *major, unsigned int *minor, unsigned int *patch)
{
    if (major)
        *major = NA_VERSION_MAJOR;
    if (minor)
        *minor = NA_VERSION_MINOR;
    if (patch)
        *patch = NA_VERSION_PATCH;
}

const char *
talaria_version(void)
{
    return TALARIA_VERSION;
}

unsigned int
talaria_version_number(void)
{
    return TALARIA_VERSION_NUMBER;
}

const char *
NA_Error_to_string(na_return_t errnum)
{
    const char *name = base_error_name((int) errnum);

    return name ? name : "NA_UNKNOWN";
}

const char *
NA_Get_class_name(const na_class_t *na_class)
{
    return na_class ? na_class->plugin->name : NULL;
}

const char *
NA_Get_class_protocol(const na_class_t *na_class)
{
    return na_class ? na_class->protocol : NULL;
}

bool
NA_Is_listening(const na_class_t *na_class)
{
    return na_class && na_class->listen;
}

bool
NA_Has_opt_feature(na_class_t *na_class, unsigned long flags)
{
    unsigned long offered =
        na_class && na_class->multi_recv ? NA_OPT_MULTI_RECV : 0;

    return na_class && (flags & ~offered) == 0;
}

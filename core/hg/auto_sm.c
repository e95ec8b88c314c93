/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening the transport for peers of this node. */
#include "hg/auto_sm.h"

#include "base/log.h"
#include "hg/class.h"
#include "na.h"
#include "setting/core.h"
#include "setting/setting.h"
#include "talaria.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define INFO_DEFAULT "na+sm"
#define INFO_MAX 256U

/* Makes the info string: the given one, or na+sm with the given name. */
static hg_return_t
choose_info(const char *given, char info[INFO_MAX])
{
    const char *front = "";
    int length;

    if (!given || !*given)
        given = INFO_DEFAULT;
    else if (!strchr(given, '+') && !strstr(given, "://"))
        front = INFO_DEFAULT "://";
    length = snprintf(info, INFO_MAX, "%s%s", front, given);
    return length > 0 && (size_t) length < INFO_MAX ? HG_SUCCESS
                                                    : HG_INVALID_ARG;
}

/* Returns whether an info string names the class's own transport. */
static bool
is_own_transport(const struct na_class *na_class, const char *info)
{
    char own[INFO_MAX];
    int length = snprintf(own, sizeof own, "%s+%s", NA_Get_class_name(na_class),
        NA_Get_class_protocol(na_class));

    return length > 0 && strncmp(own, info, (size_t) length) == 0 &&
           (info[length] == '\0' || info[length] == ':');
}

/* Options for the second transport. */
static struct na_init_info
options_of(const struct hg_init_info *info)
{
    struct na_init_info options = NA_INIT_INFO_INITIALIZER;

    options.auth_key = info->na_init_info.auth_key;
    options.max_unexpected_size = info->na_init_info.max_unexpected_size;
    options.max_expected_size = info->na_init_info.max_expected_size;
    options.progress_mode = info->na_init_info.progress_mode;
    options.max_contexts = info->na_init_info.max_contexts;
    options.thread_mode = info->na_init_info.thread_mode;
    return options;
}

void
hg_auto_sm_user(struct na_class *na_class, char user[HG_HOST_USER_MAX])
{
    struct talaria_report *report;

    snprintf(user, HG_HOST_USER_MAX, "any");
    if (talaria_class_report(na_class, &report) != NA_SUCCESS)
        return;
    for (size_t i = 0; i < report->count; i++) {
        const struct talaria_report_entry *entry = report->entries[i];

        if (strcmp(entry->name, "peers") == 0 && entry->text &&
            strcmp(entry->text, "user") == 0)
            snprintf(user, HG_HOST_USER_MAX, "%u", (unsigned) geteuid());
    }
    talaria_class_report_free(report);
}

/* Computes the number by which a descriptor tells whether its memory can be
 * reached through shared memory: a hash of host and user. */
static void
set_host_id(struct hg_class *hg_class)
{
    uint64_t user = 0;

    hg_auto_sm_user(hg_class->bulk.sm_class, hg_class->user);
    for (const char *c = hg_class->user; *c != '\0'; c++)
        user = user * 31 + (uint64_t) *c;
    hg_class->bulk.host = hg_class->host;
    hg_class->bulk.host.low ^= user;
}

/* Checks that each setting belongs to one of the class's transports. lax: only
 * warn, since not all settings are known. */
static hg_return_t
check_rest(const struct hg_class *hg_class, const struct setting_pairs *pairs,
    bool lax)
{
    const struct na_class *sm_class = hg_class->bulk.sm_class;
    const na_plugin_setting *const *lists[] = {setting_core,
        hg_class->own_na_class ? hg_class_na(hg_class)->plugin->settings : NULL,
        sm_class ? sm_class->plugin->settings : NULL};
    char fault[SETTING_FAULT_SIZE];

    if (!pairs || setting_pairs_all_taken(pairs, lists,
                      sizeof lists / sizeof lists[0], fault, sizeof fault))
        return HG_SUCCESS;
    if (lax) {
        LOG_WARNING(HG, "%s", fault);
        return HG_SUCCESS;
    }
    LOG_ERROR(HG, "%s", fault);
    return HG_INVALID_ARG;
}

hg_return_t
hg_auto_sm_open(struct hg_class *hg_class, const struct hg_init_info *info,
    struct setting_pairs *pairs)
{
    struct na_class *na_class = hg_class_na(hg_class);
    struct na_init_info options = options_of(info);
    char text[INFO_MAX], why[SETTING_FAULT_SIZE] = "info string too long";

    if (!info->auto_sm)
        return check_rest(hg_class, pairs, false);
    if (choose_info(info->sm_info_string, text) == HG_SUCCESS) {
        if (is_own_transport(na_class, text)) /* it reaches all peers */
            return check_rest(hg_class, pairs, false);
        if (NA_SM_Host_id_get(&hg_class->host) != NA_SUCCESS)
            snprintf(why, sizeof why, "this host has no id");
        else
            na_class_try_open(&(struct na_class_args){.info_string = text,
                                  .listen = NA_Is_listening(na_class),
                                  .init = &options,
                                  .pairs = pairs,
                                  .pairs_of_others = true},
                why, sizeof why, &hg_class->bulk.sm_class);
    }
    if (hg_class->bulk.sm_class) {
        set_host_id(hg_class);
        return check_rest(hg_class, pairs, false);
    }
    if (pairs && pairs->refused) {
        LOG_ERROR(HG, "%s", why);
        return HG_INVALID_ARG;
    }
    LOG_WARNING(HG,
        "auto_sm has no effect, peers of this node use %s+%s like "
        "others: %s",
        NA_Get_class_name(na_class), NA_Get_class_protocol(na_class), why);
    /* The settings of that transport are not known. */
    return check_rest(hg_class, pairs, true);
}

void
hg_auto_sm_close(struct hg_class *hg_class)
{
    NA_Finalize(hg_class->bulk.sm_class);
    hg_class->bulk.sm_class = NULL;
}

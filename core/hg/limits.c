/* SPDX-License-Identifier: BSD-3-Clause */
/* The core's own settings: the limits of a class. */
#include "hg/limits.h"

#include "base/log.h"
#include "proc/proc.h"
#include "setting/setting.h"
#include "setting/values.h"

/* Long enough for a program that computes without progress, short enough for a
 * service that runs for weeks. */
static const na_plugin_setting ack_timeout = {
    .size = sizeof ack_timeout,
    .kind = NA_PLUGIN_SETTING_NUMBER,
    .most = UINT32_MAX,
    .key = "hg.ack_timeout_ms",
    .initial = "300000",
    .text = "milliseconds until a response too large for a message, which its "
            "origin does not acknowledge, fails with HG_TIMEOUT; 0: never",
};

/* Larger data should use bulk transfers. A machine with a few GiB can run some
 * contexts that use all of it. */
static const na_plugin_setting overflow_max = {
    .size = sizeof overflow_max,
    .kind = NA_PLUGIN_SETTING_BYTES,
    .most = PROC_SIZE_MAX,
    .key = "hg.overflow_max",
    .initial = "256M",
    .text = "maximum bytes of arguments or results too large for a message; "
            "larger ones fail with HG_MSGSIZE",
};
static const na_plugin_setting overflow_total = {
    .size = sizeof overflow_total,
    .kind = NA_PLUGIN_SETTING_BYTES,
    .most = UINT64_MAX,
    .key = "hg.overflow_total",
    .initial = "1G",
    .text = "bytes of them that a context holds at once; more fail with "
            "HG_AGAIN",
};

const na_plugin_setting *const hg_limits_settings[] = {
    &ack_timeout, &overflow_max, &overflow_total, NULL};

hg_return_t
hg_limits_read(struct hg_limits *limits, struct setting_pairs *pairs)
{
    struct setting_values read;
    char fault[SETTING_FAULT_SIZE];
    na_return_t ret = setting_values_read(
        &read, hg_limits_settings, pairs, fault, sizeof fault);

    if (ret != NA_SUCCESS) {
        LOG_ERROR(HG, "%s", fault);
        return (hg_return_t) ret;
    }
    setting_warn_unknown(hg_limits_settings);
    *limits = (struct hg_limits){.ack_ms = read.values[0].number,
        .overflow_max = read.values[1].number,
        .overflow_total = read.values[2].number};
    setting_values_finish(&read);
    return HG_SUCCESS;
}

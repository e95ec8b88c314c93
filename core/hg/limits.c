/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the limits of a class. */
#include "hg/limits.h"

#include "base/log.h"
#include "proc/proc.h"
#include "setting/core.h"
#include "setting/setting.h"
#include "setting/values.h"

_Static_assert(PROC_SIZE_MAX == PTRDIFF_MAX, "most of hg.overflow_max");

hg_return_t
hg_limits_read(struct hg_limits *limits, struct setting_pairs *pairs)
{
    struct setting_values read;
    char fault[SETTING_FAULT_SIZE];
    na_return_t ret =
        setting_values_read(&read, setting_core, pairs, fault, sizeof fault);

    if (ret != NA_SUCCESS) {
        LOG_ERROR(HG, "%s", fault);
        return (hg_return_t) ret;
    }
    setting_warn_unknown(setting_core);
    *limits = (struct hg_limits){
        .ack_ms = read.values[SETTING_CORE_ACK_TIMEOUT].number,
        .overflow_max = read.values[SETTING_CORE_OVERFLOW_MAX].number,
        .overflow_total = read.values[SETTING_CORE_OVERFLOW_TOTAL].number};
    setting_values_finish(&read);
    return HG_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of settings for na_plugin.settings:
 *
 *     static const na_plugin_setting *const settings[] = {
 *         TP_SETTING(BYTES, 0, 1U << 20, "demo.size", "64K", "bytes of a ring"),
 *         NULL};
 */
#ifndef TP_SETTING_H
#define TP_SETTING_H

#include "common/system.h"
#include "na_plugin.h"

/* One entry. what: the end of a NA_PLUGIN_SETTING_; low, high: bounds; value:
 * where nobody sets it; why: one line for people. */
#define TP_SETTING(what, low, high, name, value, why)                          \
    &(const na_plugin_setting)                                                 \
    {                                                                          \
        .size = sizeof(na_plugin_setting), .kind = NA_PLUGIN_SETTING_##what,   \
        .least = (low), .most = (high), .key = (name), .initial = (value),     \
        .text = (why)                                                          \
    }

#endif /* TP_SETTING_H */

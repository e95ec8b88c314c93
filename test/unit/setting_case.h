/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings of two plugins. */
#ifndef SETTING_CASE_H
#define SETTING_CASE_H

#include "setting/setting.h"

#define COUNT(array) (int) (sizeof(array) / sizeof((array)[0]))
#define MS UINT64_C(1000000)

#define SETTING(name, its_kind, its_least, its_most, its_key, its_initial)     \
    static const na_plugin_setting name = {.size = sizeof name,                \
        .kind = its_kind,                                                      \
        .least = its_least,                                                    \
        .most = its_most,                                                      \
        .key = its_key,                                                        \
        .initial = its_initial,                                                \
        .text = "for the test"}

SETTING(number, NA_PLUGIN_SETTING_NUMBER, 1, 100, "far.number", "7");
SETTING(bytes, NA_PLUGIN_SETTING_BYTES, 0, 1 << 20, "far.bytes", "4K");
SETTING(
    duration, NA_PLUGIN_SETTING_DURATION, 0, 5000 * MS, "far.duration", "20ms");
SETTING(boolean, NA_PLUGIN_SETTING_BOOLEAN, 0, 1, "far.boolean", "no");
SETTING(words, NA_PLUGIN_SETTING_TEXT, 0, 8, "x.words", "");
SETTING(near_number, NA_PLUGIN_SETTING_NUMBER, 0, 9, "near.number", "1");

#endif /* SETTING_CASE_H */

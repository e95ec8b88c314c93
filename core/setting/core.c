/* SPDX-License-Identifier: BSD-3-Clause */
/* The core's own settings. */
#include "setting/core.h"

#include <stddef.h>
#include <stdint.h>

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
    .most = PTRDIFF_MAX,
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

const na_plugin_setting *const setting_core[] = {
    [SETTING_CORE_ACK_TIMEOUT] = &ack_timeout,
    [SETTING_CORE_OVERFLOW_MAX] = &overflow_max,
    [SETTING_CORE_OVERFLOW_TOTAL] = &overflow_total,
    [SETTING_CORE_COUNT] = NULL};

/* SPDX-License-Identifier: BSD-3-Clause */
/* What users may set of a class. */
#include "class_settings.h"

#define SECOND UINT64_C(1000000000)

static const na_plugin_setting window = {
    .size = sizeof(window),
    .kind = NA_PLUGIN_SETTING_BYTES,
    .least = UINT64_C(16) << 10,
    .most = UINT64_C(1) << 30,
    .key = "ucx.window",
    .initial = "128K",
    .text = "bytes of unexpected messages that each peer may send before some "
            "are received",
};
static const na_plugin_setting connect_timeout = {
    .size = sizeof(connect_timeout),
    .kind = NA_PLUGIN_SETTING_DURATION,
    .least = SECOND,
    .most = 86400 * SECOND,
    .key = "ucx.connect_timeout",
    .initial = "10s",
    .text = "how long a peer may take to answer a call",
};
static const na_plugin_setting send_timeout = {
    .size = sizeof(send_timeout),
    .kind = NA_PLUGIN_SETTING_DURATION,
    .most = 86400 * SECOND,
    .key = "ucx.send_timeout",
    .initial = "300s",
    .text = "how long a send waits for room; 0: for ever",
};
static const na_plugin_setting trusted_network = {
    .size = sizeof(trusted_network),
    .kind = NA_PLUGIN_SETTING_BOOLEAN,
    .most = 1,
    .key = "ucx.trusted_network",
    .initial = "no",
    .text = "yes: only trusted hosts can connect, no warning about it",
};

const na_plugin_setting *const ucx_class_settings[] = {
    &window, &connect_timeout, &send_timeout, &trusted_network, NULL};

/* SPDX-License-Identifier: BSD-3-Clause */
/* What users may set of a class. */
#include "class_settings.h"

#define MS UINT64_C(1000000)
#define TIME_MAX (UINT64_C(1000000000) * MS)

static const na_plugin_setting queue_size = {
    .size = sizeof(queue_size),
    .kind = NA_PLUGIN_SETTING_BYTES,
    .most = UINT64_C(1) << 40,
    .key = "ofi.queue_size",
    .initial = "64M",
    .text = "bytes of unexpected messages that a class queues",
};
static const na_plugin_setting probe_interval = {
    .size = sizeof(probe_interval),
    .kind = NA_PLUGIN_SETTING_DURATION,
    .least = 10 * MS,
    .most = TIME_MAX,
    .key = "ofi.probe_interval",
    .initial = "1s",
    .text = "silence after which a peer that is waited for is pinged",
};
static const na_plugin_setting silent_timeout = {
    .size = sizeof(silent_timeout),
    .kind = NA_PLUGIN_SETTING_DURATION,
    .most = TIME_MAX,
    .key = "ofi.silent_timeout",
    .initial = "30s",
    .text = "when a TCP connection whose peer has sent nothing is shut down; "
            "0: never",
};
static const na_plugin_setting retry_timeout = {
    .size = sizeof(retry_timeout),
    .kind = NA_PLUGIN_SETTING_DURATION,
    .least = 1 * MS,
    .most = TIME_MAX,
    .key = "ofi.retry_timeout",
    .initial = "10s",
    .text = "how long libfabric may take nothing for a peer that nobody can "
            "ask for",
};
static const na_plugin_setting send_timeout = {
    .size = sizeof(send_timeout),
    .kind = NA_PLUGIN_SETTING_DURATION,
    .least = 1 * MS,
    .most = TIME_MAX,
    .key = "ofi.send_timeout",
    .initial = "300s",
    .text = "how long libfabric may take nothing for a peer that is there",
};

const na_plugin_setting *const ofi_class_settings[] = {&queue_size,
    &probe_interval, &silent_timeout, &retry_timeout, &send_timeout, NULL};

/* SPDX-License-Identifier: BSD-3-Clause */
/* What users may set of a class. */
#include "class_settings.h"

#include "ring.h"

#define SECOND UINT64_C(1000000000)

static const na_plugin_setting ring_size = {
    .size = sizeof(ring_size),
    .kind = NA_PLUGIN_SETTING_BYTES,
    .most = SM_RING_CAPACITY_MAX,
    .key = "sm.ring_size",
    .initial = "32K",
    .text = "bytes of a ring of ours with its control page",
};
static const na_plugin_setting queue_size = {
    .size = sizeof(queue_size),
    .kind = NA_PLUGIN_SETTING_BYTES,
    .most = UINT64_C(1) << 40,
    .key = "sm.queue_size",
    .initial = "1M",
    .text = "bytes of unexpected messages queued in a context",
};
static const na_plugin_setting send_timeout = {
    .size = sizeof(send_timeout),
    .kind = NA_PLUGIN_SETTING_DURATION,
    .most = 1000000 * SECOND,
    .key = "sm.send_timeout",
    .initial = "300s",
    .text = "how long a send waits for room; 0: for ever",
};
static const na_plugin_setting membarrier = {
    .size = sizeof(membarrier),
    .kind = NA_PLUGIN_SETTING_BOOLEAN,
    .most = 1,
    .key = "sm.membarrier",
    .initial = "yes",
    .text = "no: fences in every send instead of the system call",
};
static const na_plugin_setting any_user = {
    .size = sizeof(any_user),
    .kind = NA_PLUGIN_SETTING_BOOLEAN,
    .most = 1,
    .key = "sm.any_user",
    .initial = "no",
    .text = "yes: peers may be processes of any user, as with any/",
};
static const na_plugin_setting user_connections = {
    .size = sizeof(user_connections),
    .kind = NA_PLUGIN_SETTING_NUMBER,
    .least = 1,
    .most = 1000000,
    .key = "sm.user_connections",
    .initial = "64",
    .text = "connections that each other user may have, if admitted",
};

const na_plugin_setting *const sm_class_settings[] = {&ring_size, &queue_size,
    &send_timeout, &membarrier, &any_user, &user_connections, NULL};

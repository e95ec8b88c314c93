/* SPDX-License-Identifier: BSD-3-Clause */
/* A plugin that claims to reach other machines: the wire plugin under the name
 * net, which accepts names such as 127.0.0.1, with a device in front. */
#include <string.h>

#include "wire.h"

static int32_t
open_class(const na_plugin_host *host, const na_plugin_open_info *info,
    na_plugin_opened *into)
{
    na_plugin_open_info inner = *info;
    const char *slash = info->name ? strchr(info->name, '/') : NULL;
    int32_t code;

    if (slash)
        inner.name = slash + 1;
    code = wire_open(host, &inner, into);
    if (code == NA_PLUGIN_OK)
        into->features &= ~NA_PLUGIN_FEATURE_NODE_LOCAL;
    return code;
}

const char wire_send_timeout_key[] = "net.send_timeout";

static const na_plugin_setting send_timeout = {
    .size = sizeof send_timeout,
    .kind = NA_PLUGIN_SETTING_DURATION,
    .most = UINT64_C(300) * 1000000000,
    .key = wire_send_timeout_key,
    .initial = "120s",
    .text = "how long a send waits for room",
};

static const na_plugin_setting *const settings[] = {&send_timeout, NULL};

NA_PLUGIN_EXPORT const na_plugin NA_PLUGIN_SYMBOL(net) = {
    .magic = NA_PLUGIN_MAGIC,
    .abi_major = NA_PLUGIN_ABI_MAJOR,
    .abi_minor = NA_PLUGIN_ABI_MINOR,
    .size = sizeof(na_plugin),
    .name = "net",
    .version = "1.0",
    .protocols = wire_protocols,
    .flags = NA_PLUGIN_OPAQUE_NAME,
    .priority = -100,
    .info = wire_info,
    .open = open_class,
    .close = wire_close,
    .settings = settings,
};

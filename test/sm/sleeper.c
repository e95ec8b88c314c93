/* SPDX-License-Identifier: BSD-3-Clause */
/* Arming, and poll(2). */
#include <poll.h>

#include "sleeper.h"

na_plugin_event
sleep_for_event(struct node *node, uint32_t index)
{
    na_plugin_ctx *ctx = node->ctx[index];
    na_plugin_event event;

    for (;;) {
        if (node->ops->poll(ctx, &event, 1) == 1)
            return event;
        uint64_t sleep_ns = 0;
        int32_t armed = node->wait->arm(ctx, &sleep_ns);
        if (armed == NA_PLUGIN_DONE)
            continue;
        ck_assert_int_eq(armed, NA_PLUGIN_OK);
        int timeout = SLEEP_PATIENCE_MS;
        if (sleep_ns < SLEEP_PATIENCE_MS * UINT64_C(1000000))
            timeout = (int) (sleep_ns / 1000000) + 1;
        struct pollfd entry = {.fd = node->wait->fd(ctx), .events = POLLIN};
        int ready = poll(&entry, 1, timeout);
        ck_assert_msg(ready == 1 || timeout != SLEEP_PATIENCE_MS,
            "nothing roused context %u", index);
    }
}

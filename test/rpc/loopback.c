/* SPDX-License-Identifier: BSD-3-Clause */
#include "loopback.h"

static void
with_contexts(struct hg_init_info *info)
{
    loopback_on(info);
    info->na_init_info.max_contexts = 2;
}

const struct session_setup loopback_setup = {
    .open = rpcs_open, .stopping = rpcs_stopping, .init = loopback_on};
const struct session_setup loopback_two_contexts = {
    .open = rpcs_open, .stopping = rpcs_stopping, .init = with_contexts};

void
loopback_on(struct hg_init_info *info)
{
    info->no_loopback = 0;
}

bool
loopback_is_self(int mode)
{
    return session_mode_at(mode)->shape == SESSION_SELF;
}

uint32_t
loopback_sent(void)
{
    return session_is_loop() ? loop_submitted(LOOP_SEND_UNEXPECTED) : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers for wake-up cases. */
#include "wake.h"

#include "hg/context.h"
#include "talaria.h"

#include <poll.h>

const struct session_setup wake_setup = {
    .open = rpcs_open, .stopping = rpcs_stopping};

void
wake_set_oversubscribed(struct session *s, bool oversubscribed)
{
    struct na_spin *spin = &hg_context_na(s->context)->progress->spin;

    spin->oversubscribed = oversubscribed;
    spin->look_waits = UINT32_MAX;
}

void
wake_begin(struct session *s)
{
    session_begin(s, 0, &wake_setup);
    wake_set_oversubscribed(s, false);
}

bool
wake_is_readable(hg_context_t *context)
{
    struct pollfd fd = {.fd = HG_Event_get_wait_fd(context), .events = POLLIN};

    ck_assert_int_ge(fd.fd, 0);
    return poll(&fd, 1, 0) == 1;
}

void
wake_sleep_outside(struct session *s)
{
    ck_assert_int_ge(HG_Event_get_wait_fd(s->context), 0);
    session_drain(s->context);
    ck_assert_msg(!HG_Event_ready(s->context), "ready, but nothing is due");
    ck_assert_msg(!wake_is_readable(s->context), "woken without a reason");
}

void
wake_hold_request(struct session *s, struct call *call)
{
    hg_handle_t handle = session_handle(s, rpcs_id(RPC_NOTIFY));
    uint64_t value = 1;

    loop_fault_set(LOOP_SEND_UNEXPECTED, (struct loop_fault){.act = LOOP_HOLD});
    ck_assert_int_eq(HG_Forward(handle, call_done, call, &value), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
}

static hg_return_t
free_address(const struct hg_cb_info *info)
{
    return HG_Addr_free((hg_class_t *) info->arg, info->info.lookup.addr);
}

void
wake_complete(struct session *s)
{
    ck_assert_int_eq(HG_Addr_lookup1(s->context, free_address, s->hg_class,
                         s->address, NULL),
        HG_SUCCESS);
}

hg_handle_t
wake_create_with_deadline(struct session *s)
{
    hg_handle_t handle = session_handle(s, rpcs_id(RPC_EMPTY));

    ck_assert_int_eq(
        talaria_handle_set_deadline(handle, DEADLINE_MS), HG_SUCCESS);
    loop_fault_set(LOOP_SEND_UNEXPECTED, (struct loop_fault){.act = LOOP_HOLD});
    return handle;
}

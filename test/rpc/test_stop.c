/* SPDX-License-Identifier: BSD-3-Clause */
/* A target ends while calls arrive: its HG_Context_destroy succeeds, and each call
 * ends. */
#include "counts.h"
#include "rpcs.h"

#include <string.h>

#define IN_FLIGHT 32U
#define CALLS 1000U /* answered before the target stops */

static const struct session_setup setup = {
    .open = rpcs_open, .stopping = rpcs_stopping};

struct flood {
    _Atomic uint32_t answered;
    _Atomic uint32_t ended; /* handles that are not forwarded again */
    hg_return_t wrong;
};

/* What calls of a target that ends or has ended may return. */
static bool
is_end(hg_return_t ret)
{
    return ret == HG_NODEV || ret == HG_CANCELED || ret == HG_HOSTUNREACH ||
           ret == HG_IO_ERROR;
}

/* Notes a call that did not succeed. */
static void
note_end(struct flood *flood, hg_return_t ret)
{
    if (!is_end(ret))
        flood->wrong = ret;
    atomic_fetch_add(&flood->ended, 1);
}

static hg_return_t on_answer(const struct hg_cb_info *info);

static void
forward(struct flood *flood, hg_handle_t handle)
{
    hg_return_t ret = HG_Forward(handle, on_answer, flood, NULL);

    if (ret != HG_SUCCESS)
        note_end(flood, ret);
}

static hg_return_t
on_answer(const struct hg_cb_info *info)
{
    struct flood *flood = info->arg;

    if (info->ret == HG_SUCCESS) {
        atomic_fetch_add(&flood->answered, 1);
        forward(flood, info->info.forward.handle);
    } else {
        note_end(flood, info->ret);
    }
    return HG_SUCCESS;
}

START_TEST(stop_while_calls_arrive)
{
    struct session s;
    struct flood flood;
    hg_handle_t handles[IN_FLIGHT];

    memset(&flood, 0, sizeof flood);
    session_begin(&s, _i, &setup);
    if (s.mode->shape != SESSION_SELF) {
        for (unsigned i = 0; i < IN_FLIGHT; i++) {
            handles[i] = session_handle(&s, rpcs_id(RPC_EMPTY));
            forward(&flood, handles[i]);
        }
        session_wait(&s, &flood.answered, CALLS);
        session_stop(&s);
        session_wait(&s, &flood.ended, IN_FLIGHT);
        ck_assert_msg(flood.wrong == HG_SUCCESS, "HG_Forward: %s",
            HG_Error_to_string(flood.wrong));
        for (unsigned i = 0; i < IN_FLIGHT; i++)
            ck_assert_int_eq(HG_Destroy(handles[i]), HG_SUCCESS);
    }
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, stop_while_calls_arrive);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "stop", add);
}

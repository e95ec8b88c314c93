/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HG when memory runs out: each allocation in turn fails. The step succeeds or
 * returns an error, leaks nothing, and the next one works. Linked with --wrap,
 * so that allocations of the core and of procs are counted, but none of a
 * transport.
 */
#include "log_watch.h"
#include "nomem.h"
#include "rpcs.h"
#include "scarce.h"
#include "talaria.h"

static hg_return_t (*const runs[])(struct nomem *) = {nomem_open_again,
    nomem_open_both_ways, nomem_look_up, nomem_register, nomem_call,
    nomem_call_with_strings, nomem_call_large, nomem_call_oneself,
    nomem_call_and_wait, nomem_cancel, nomem_call_many, nomem_get_stats,
    nomem_get_protocols, nomem_move_data, nomem_na_objects, nomem_na_messages};

/* Again, without failing allocations. */
static void
ck_works(struct nomem *n)
{
    ck_assert_int_eq(nomem_call(n), HG_SUCCESS);
    ck_assert_int_eq(nomem_call_large(n), HG_SUCCESS);
}

START_TEST(nomem_anywhere_is_reported)
{
    struct nomem n;
    uint32_t failed = 0;
    bool over = false;

    for (long at = 0; !over; at++) {
        hg_return_t ret;

        session_prepare(session_mode_at(0));
        log_watch_begin();
        log_watch_install();
        ck_assert_int_eq(nomem_open(&n, false), HG_SUCCESS);
        /* libcheck allocates too: assert only while no allocation fails. */
        scarce_countdown = at;
        ret = runs[_i](&n);
        over = scarce_countdown >= 0;
        scarce_countdown = -1;
        ck_assert_msg(ret == HG_NOMEM || ret == HG_SUCCESS,
            "allocation %ld of run %d: %s", at, _i, HG_Error_to_string(ret));
        ck_assert(!over || ret == HG_SUCCESS);
        failed += ret == HG_NOMEM;
        ck_works(&n);
        nomem_close(&n);
        HG_Cleanup();
    }
    ck_assert_uint_gt(failed, 0);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_loop_test(tcase, nomem_anywhere_is_reported, 0,
        (int) (sizeof runs / sizeof runs[0]));
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "nomem", add);
}

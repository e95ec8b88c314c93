/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting the bytes that a context holds for its peers: the total, the share
 * of one peer, and releasing. */
#include "hg/hold.h"

#include "base/lock.h"
#include "log_watch.h"
#include "mercury.h"
#include "na/class.h"
#include "na/peer.h"
#include "runner.h"

#include <check.h>

#define TOTAL 8000U
#define SHARE (TOTAL / 8)
#define HALF (TOTAL / 2)

static int addrs[3]; /* used for their addresses only */
static int references;

static void
addr_dup(na_plugin_class *cls, na_plugin_addr *addr)
{
    references++;
}

static void
addr_free(na_plugin_class *cls, na_plugin_addr *addr)
{
    references--;
}

static int32_t
addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b)
{
    return a == b;
}

static struct na_class na_class = {.ops = {.addr_dup = addr_dup,
                                       .addr_free = addr_free,
                                       .addr_equal = addr_equal}};
static struct hg_addr peers[3];
static struct base_lock lock;
static _Atomic uint64_t refused;
static struct hg_holds holds;

static void
set_up(void)
{
    log_watch_begin();
    log_watch_install();
    base_lock_init(&lock, true);
    hg_holds_init(&holds, TOTAL, &lock, &refused, 0);
    for (int i = 0; i < 3; i++)
        na_peer_set(&peers[i], &na_class, (na_plugin_addr *) &addrs[i]);
}

/* Nothing is held at the end of a case. */
static void
tear_down(void)
{
    ck_assert_uint_eq(holds.bytes, 0);
    ck_assert(LIST_EMPTY(&holds.shares));
    ck_assert_int_eq(references, 0);
    log_watch_check();
}

static struct hg_hold
take(const struct hg_addr *peer, size_t size)
{
    struct hg_hold hold;

    ck_assert_int_eq(hg_hold_take(&hold, &holds, peer, size, 0), HG_SUCCESS);
    return hold;
}

/* Refused, and nothing of it is counted. */
static void
ck_refused(const struct hg_addr *peer, size_t size, hg_return_t code)
{
    uint64_t bytes = holds.bytes, before = refused;
    struct hg_hold hold;

    ck_assert_int_eq(hg_hold_take(&hold, &holds, peer, size, 0), code);
    ck_assert_uint_eq(holds.bytes, bytes);
    ck_assert_uint_eq(refused, before + 1);
}

START_TEST(hold_up_to_the_total_and_no_byte_more)
{
    struct hg_hold hold, other;

    log_expect("HG_MSGSIZE", 1, 1);
    log_expect("HG_AGAIN", 1, 1);
    ck_refused(NULL, TOTAL + 1, HG_MSGSIZE);
    hold = take(NULL, TOTAL - 100);
    ck_refused(NULL, 101, HG_AGAIN);
    other = take(NULL, 100);
    hg_hold_release(&hold, &holds);
    hg_hold_release(&other, &holds);
    hg_hold_release(&other, &holds); /* holds nothing any more */
}
END_TEST

START_TEST(hold_counts_overhead_beside_the_payload)
{
    struct hg_hold hold;

    log_expect("HG_MSGSIZE", 1, 1);
    ck_assert_int_eq(hg_hold_take(&hold, &holds, NULL, TOTAL, 1), HG_MSGSIZE);
    ck_assert_int_eq(
        hg_hold_take(&hold, &holds, NULL, TOTAL - 1, 1), HG_SUCCESS);
    ck_assert_uint_eq(holds.bytes, TOTAL);
    hg_hold_release(&hold, &holds);
}
END_TEST

START_TEST(hold_of_one_peer_is_limited_to_its_share)
{
    struct hg_hold first = take(&peers[0], HALF + 1), second, other;

    log_expect("limit 1000: HG_AGAIN", 1, 2);
    second = take(&peers[0], SHARE / 2);
    ck_refused(&peers[0], SHARE / 2 + 1, HG_AGAIN);
    other = take(&peers[1], SHARE);
    ck_refused(&peers[1], 1, HG_AGAIN);
    /* releasing another's bytes does not count for this one */
    hg_hold_release(&second, &holds);
    ck_refused(&peers[1], 1, HG_AGAIN);
    second = take(&peers[0], SHARE);
    hg_hold_release(&first, &holds);
    hg_hold_release(&second, &holds);
    hg_hold_release(&other, &holds);
}
END_TEST

START_TEST(hold_of_a_single_large_payload_may_exceed_the_share)
{
    struct hg_hold first = take(NULL, HALF + 1), second;

    log_expect("limit 1000: HG_AGAIN", 1, 1);
    second = take(&peers[2], 2 * SHARE);
    ck_refused(&peers[2], 1, HG_AGAIN);
    hg_hold_release(&second, &holds);
    hg_hold_release(&first, &holds);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("hold");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, hold_up_to_the_total_and_no_byte_more);
    tcase_add_test(tcase, hold_counts_overhead_beside_the_payload);
    tcase_add_test(tcase, hold_of_one_peer_is_limited_to_its_share);
    tcase_add_test(tcase, hold_of_a_single_large_payload_may_exceed_the_share);
    return run_tcase("hold", tcase);
}

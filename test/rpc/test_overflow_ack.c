/* SPDX-License-Identifier: BSD-3-Clause */
/* Large outputs that are not acknowledged, or wrongly: when one side has given
 * up the call, so does the other, and the target does not wait forever. */
#include "counts.h"
#include "large.h"
#include "log_watch.h"

#include <stdlib.h>
#include <string.h>

#define SMALL 20000U
#define ACK_SIZE 16U

static hg_id_t later_id; /* keeps the handle; counts */
static hg_id_t now_id;   /* responds to the kept handle; counts again */
static hg_id_t small_id; /* no input, no output; counts like LARGE_MAKE */

struct shared {
    _Atomic uint32_t later;
    _Atomic uint32_t later_ret;
};

static struct shared *
shared(void)
{
    return (struct shared *) ((char *) session_user() + LARGE_USER_OFFSET);
}

static hg_return_t
on_small(hg_handle_t handle)
{
    TARGET_ASSERT(
        HG_Respond(handle, rpcs_on_responded, NULL, NULL) == HG_SUCCESS);
    atomic_fetch_add(&large_shared()->made, 1);
    return HG_SUCCESS;
}

static hg_handle_t kept;

static hg_return_t
on_later(hg_handle_t handle)
{
    kept = handle;
    atomic_fetch_add(&shared()->later, 1);
    return HG_SUCCESS;
}

static hg_return_t
on_now(hg_handle_t handle)
{
    blob_t out = blob_make(LARGE, 1);

    atomic_store(
        &shared()->later_ret, (uint32_t) HG_Respond(kept, NULL, NULL, &out));
    blob_free(&out);
    TARGET_ASSERT(HG_Destroy(kept) == HG_SUCCESS);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    atomic_fetch_add(&shared()->later, 1);
    return HG_SUCCESS;
}

static void
open_own(hg_class_t *hg_class)
{
    large_open(hg_class);
    later_id = MERCURY_REGISTER(hg_class, "later", void, blob_t, on_later);
    now_id = MERCURY_REGISTER(hg_class, "now", void, void, on_now);
    small_id = MERCURY_REGISTER(hg_class, "small", void, void, on_small);
}

static const struct session_setup setup = {
    .open = open_own, .stopping = rpcs_stopping};

/* Checks how the first response ended at the target. */
static void
ck_ended(struct session *s, hg_return_t ret)
{
    session_wait_other(s, &rpcs_shared()->responded, 1);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, ret);
}

/* The next call with the same handle works. */
static void
ck_next_works(struct session *s, hg_handle_t handle)
{
    ck_assert_int_eq(session_forward(s, handle, NULL), HG_SUCCESS);
    session_wait_other(s, &rpcs_shared()->responded, 2);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
}

/* The origin has cancelled long before the response is made. */
START_TEST(overflow_answer_to_cancelled_call_is_canceled)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, later_id);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    session_wait_other(&s, &shared()->later, 1);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_CANCELED);
    session_quiet(&s); /* the cancel message arrives */
    ck_assert_int_eq(HG_Reset(handle, HG_ADDR_NULL, now_id), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    session_wait_other(&s, &shared()->later, 2);
    ck_assert_uint_eq(shared()->later_ret, HG_CANCELED);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* The loop plugin loses the next acknowledgement, or with skip 0 the next
 * response: the send completes, but nothing is delivered. */
static void
lose_expected(uint32_t skip)
{
    loop_fault_set(LOOP_SEND_EXPECTED,
        (struct loop_fault){.act = LOOP_LOSE, .count = 1, .skip = skip});
}

/* The response is lost after its send completed: the target does not wait
 * forever. */
START_TEST(overflow_lost_answer_is_canceled_at_both_sides)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, large_id(LARGE_MAKE));
    lose_expected(0);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    session_wait_other(&s, &large_shared()->made, 1);
    session_quiet(&s);
    ck_assert_uint_eq(rpcs_shared()->responded, 0);
    ck_assert_uint_eq(call.called, 0);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_CANCELED);
    ck_ended(&s, HG_CANCELED);
    ck_next_works(&s, handle);
    session_end(&s);
}
END_TEST

static uint32_t request_cookie; /* of the last request */

static void
see_request(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    const unsigned char *at = memmem(message, *length, "RQ\1", 3);

    if (kind == LOOP_SEND_UNEXPECTED && at)
        memcpy(&request_cookie, at + 4, 4);
}

/* A cancel message for the last request, as if this peer had sent it. The tag
 * contains the handle's number, which is one of the first. */
static void
inject_cancel(struct session *s, const char *from)
{
    unsigned char bytes[8] = {'G', 'Q', 1, 0};
    const struct loop_limits *limits = s->mode->limits;
    /* long tags contain the cookie too */
    uint32_t use = limits && limits->max_tag ? 0 : request_cookie << 20;

    memcpy(bytes + 4, &request_cookie, 4);
    for (uint32_t i = 0; i < 16; i++)
        ck_assert(loop_inject(from, s->address, 0, LOOP_SEND_UNEXPECTED, bytes,
            sizeof bytes, use | i));
    session_quiet(s);
}

static void
few_receives(struct hg_init_info *info)
{
    info->request_post_init = 2;
    info->request_post_incr = 2;
}

START_TEST(overflow_cancel_message_of_another_peer_is_ignored)
{
    static const struct session_setup listening = {.init = few_receives,
        .open = open_own,
        .stopping = rpcs_stopping,
        .origin_listens = true};
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    char own[256];
    hg_size_t size = sizeof own;
    hg_addr_t self;

    if (session_mode_at(_i)->shape == SESSION_SELF)
        return;
    session_begin(&s, _i, &listening);
    ck_assert_int_eq(HG_Addr_self(s.hg_class, &self), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_to_string(s.hg_class, own, &size, self), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, self), HG_SUCCESS);
    handle = session_handle(&s, large_id(LARGE_MAKE));
    loop_tamper_set(see_request);
    lose_expected(0);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    session_wait_other(&s, &large_shared()->made, 1);
    loop_tamper_set(NULL);
    inject_cancel(&s, "mem://4711");
    ck_assert_uint_eq(rpcs_shared()->responded, 0);
    inject_cancel(&s, own);
    ck_ended(&s, HG_CANCELED);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_next_works(&s, handle);
    session_end(&s);
}
END_TEST

static void
cut_reference(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    unsigned char *at = message;

    if (kind != LOOP_SEND_EXPECTED)
        return;
    while (memcmp(at, "RS\1", 3) != 0)
        at++;
    if (at[3] & 2) /* RPC_ECHO's arguments are fetched separately */
        at[8] = 15;
}

/* The origin cannot send the acknowledgement that reports its failure. */
START_TEST(overflow_answer_with_broken_reference_fails_at_both_sides)
{
    struct session s;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    log_expect("cannot fetch arguments: HG_PROTOCOL_ERROR", 1, 1);
    handle = session_handle(&s, large_id(LARGE_MAKE));
    loop_tamper_set(cut_reference);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_PROTOCOL_ERROR);
    ck_ended(&s, HG_CANCELED);
    loop_tamper_set(NULL);
    ck_next_works(&s, handle);
    session_end(&s);
}
END_TEST

START_TEST(overflow_answer_neither_fetched_nor_acknowledged_fails_at_both_sides)
{
    struct session s;
    hg_handle_t handle;

    if (!large_fetches(_i))
        return;
    session_begin(&s, _i, &setup);
    log_expect("cannot acknowledge the answer", 1, 1);
    handle = session_handle(&s, large_id(LARGE_MAKE));
    loop_fault_set(LOOP_GET,
        (struct loop_fault){
            .act = LOOP_FAIL_LATER, .code = NA_PLUGIN_E_IO_ERROR, .count = 1});
    loop_fault_set(LOOP_SEND_EXPECTED, (struct loop_fault){.act = LOOP_FAIL_NOW,
                                           .code = NA_PLUGIN_E_IO_ERROR,
                                           .skip = 1,
                                           .count = 4});
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_IO_ERROR);
    ck_ended(&s, HG_CANCELED);
    ck_next_works(&s, handle);
    session_end(&s);
}
END_TEST

/* Begins a session with an acknowledgement timeout, and returns a handle. The
 * outputs are small enough to be fetched well within it. */
static hg_handle_t
begin_limited(
    struct session *s, int mode, const struct session_setup *session_setup)
{
    ck_assert_int_eq(setenv("TALARIA_HG_ACK_TIMEOUT_MS", "300", 1), 0);
    session_begin(s, mode, session_setup);
    large_shared()->size = SMALL;
    return session_handle(s, large_id(LARGE_MAKE));
}

/* The origin gets the output; its acknowledgement is lost. */
static void
ck_times_out(struct session *s, hg_handle_t handle)
{
    log_expect("not acknowledged within 300 ms", 1, 1);
    ck_assert_int_eq(session_forward(s, handle, NULL), HG_SUCCESS);
    ck_ended(s, HG_TIMEOUT);
}

/* Also when the transport cannot cancel the receive of the acknowledgement. */
START_TEST(overflow_answer_that_is_never_acknowledged_times_out)
{
    static const enum loop_cancel cancels[] = {
        LOOP_CANCEL_PROMPT, LOOP_CANCEL_LATE, LOOP_CANCEL_REFUSED};
    struct session s;
    hg_handle_t handle;

    handle = begin_limited(&s, _i, &setup);
    loop_cancel_set(cancels[_i % 3]);
    lose_expected(1);
    ck_times_out(&s, handle);
    loop_cancel_set(LOOP_CANCEL_PROMPT);
    ck_next_works(&s, handle);
    session_end(&s);
}
END_TEST

static void
one_receive(struct hg_init_info *info)
{
    info->request_post_init = 1;
    info->request_post_incr = -1;
}

/* A timeout belongs to one response: the next one on the same handle, which the
 * transport keeps longer, is not affected. */
START_TEST(overflow_timeout_does_not_apply_to_the_next_answer)
{
    static const struct session_setup setup_one = {
        .init = one_receive, .open = open_own, .stopping = rpcs_stopping};
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    uint64_t begin;

    if (!large_fetches(_i) || session_mode_at(_i)->limits)
        return;
    handle = begin_limited(&s, _i, &setup_one);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    begin = session_now_ms();
    session_wait_other(&s, &rpcs_shared()->responded, 1);
    ck_assert_int_eq(HG_Reset(handle, HG_ADDR_NULL, small_id), HG_SUCCESS);
    loop_fault_set(
        LOOP_SEND_EXPECTED, (struct loop_fault){.act = LOOP_HOLD, .count = 1});
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    while (session_now_ms() - begin < 350)
        session_step(&s, 10);
    ck_assert_uint_eq(large_shared()->made, 2);
    loop_release();
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    session_wait_other(&s, &rpcs_shared()->responded, 2);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* Waits for seconds, so it runs in one mode. */
START_TEST(overflow_context_destroy_with_unacknowledged_answer)
{
    struct session s;
    hg_handle_t handle;
    uint64_t begin;
    blob_t in;
    int mode = 0;

    while (session_mode_at(mode)->shape != SESSION_THREADS)
        mode++;
    session_begin(&s, mode, &setup);
    in = blob_make(LARGE, 1);
    handle = session_handle(&s, large_id(LARGE_ECHO));
    lose_expected(1);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    begin = session_now_ms();
    session_end(&s);
    ck_assert_uint_ge(session_now_ms() - begin, 2000);
}
END_TEST

/* Start of an acknowledgement in a message, or NULL. */
static unsigned char *
ack_in(enum loop_kind kind, unsigned char *message, uint64_t length)
{
    unsigned char *at = message + length - ACK_SIZE;

    if (kind != LOOP_SEND_EXPECTED || length < ACK_SIZE || at[0] != 'A' ||
        at[1] != 'K')
        return NULL;
    return at;
}

static void
spoil_magic(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    unsigned char *ack = ack_in(kind, message, *length);

    if (ack)
        ack[0] ^= 0xff;
}

static void
cut_off(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    if (ack_in(kind, message, *length))
        *length -= 1;
}

/* Shorter than the transport's header where that is long. */
static void
cut_short(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    if (ack_in(kind, message, *length))
        *length = 5;
}

START_TEST(overflow_malformed_acknowledgement_fails_the_answer)
{
    static const loop_tamper_t tampers[] = {spoil_magic, cut_off, cut_short};
    struct session s;
    hg_handle_t handle;

    if (!large_fetches(_i))
        return;
    session_begin(&s, _i, &setup);
    log_expect("malformed acknowledgement of", 3, 3);
    handle = session_handle(&s, large_id(LARGE_MAKE));
    for (uint32_t i = 0; i < 3; i++) {
        loop_tamper_set(tampers[i]);
        /* The origin gets the output. */
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
        session_wait_other(&s, &rpcs_shared()->responded, i + 1);
        ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_PROTOCOL_ERROR);
        loop_tamper_set(NULL);
        rpcs_ck_works(&s);
    }
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
spoil_cookie(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    unsigned char *ack = ack_in(kind, message, *length);

    if (ack)
        ack[4] ^= 0xff;
}

/* It is ignored, and the receive is posted again. */
START_TEST(overflow_acknowledgement_of_another_answer_is_ignored)
{
    struct session s;
    hg_handle_t handle;

    if (!large_fetches(_i))
        return;
    handle = begin_limited(&s, _i, &setup);
    loop_tamper_set(spoil_cookie);
    ck_times_out(&s, handle);
    loop_tamper_set(NULL);
    ck_next_works(&s, handle);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, overflow_answer_to_cancelled_call_is_canceled);
    session_add(tcase, overflow_lost_answer_is_canceled_at_both_sides);
    session_add(tcase, overflow_cancel_message_of_another_peer_is_ignored);
    session_add(
        tcase, overflow_answer_with_broken_reference_fails_at_both_sides);
    session_add(tcase,
        overflow_answer_neither_fetched_nor_acknowledged_fails_at_both_sides);
    session_add(tcase, overflow_answer_that_is_never_acknowledged_times_out);
    session_add(tcase, overflow_timeout_does_not_apply_to_the_next_answer);
    tcase_add_test(tcase, overflow_context_destroy_with_unacknowledged_answer);
    session_add(tcase, overflow_malformed_acknowledgement_fails_the_answer);
    session_add(tcase, overflow_acknowledgement_of_another_answer_is_ignored);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "overflow_ack", add);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes that a peer announces and acknowledgements that it sends: arguments
 * beyond the limit of a target or an origin, invalid acknowledgements. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <stdlib.h>
#include <string.h>

#define LARGE 300000U
#define MEDIUM 100000U

static hg_id_t make_id;

/* uint32_t in: output size in bytes. */
static hg_return_t
on_make(hg_handle_t handle)
{
    uint32_t size;
    hg_return_t ret;
    blob_t out;

    TARGET_ASSERT(HG_Get_input(handle, &size) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_input(handle, &size) == HG_SUCCESS);
    out = blob_make(size, 1);
    ret = HG_Respond(handle, rpcs_on_responded, NULL, &out);
    blob_free(&out);
    /* The payloads of calls before may be held still. */
    TARGET_ASSERT(ret == HG_SUCCESS || ret == HG_AGAIN);
    if (ret != HG_SUCCESS) {
        rpcs_shared()->responded_ret = (uint32_t) ret;
        rpcs_shared()->responded++;
    }
    return ret; /* AGAIN: sent in place of the response */
}

static void
open_own(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    make_id = MERCURY_REGISTER(hg_class, "make", uint32_t, blob_t, on_make);
}

static const struct session_setup setup = {
    .open = open_own, .stopping = rpcs_stopping};

static void
set(const char *name, const char *value)
{
    ck_assert_int_eq(setenv(name, value, 1), 0);
}

/* Requests one output of size bytes. Returns the result; the target's callback
 * gets it too. */
static hg_return_t
make(struct session *s, uint32_t size)
{
    uint32_t before = rpcs_shared()->responded;
    hg_handle_t handle = session_handle(s, make_id);
    hg_return_t ret = session_forward(s, handle, &size);

    session_wait_other(s, &rpcs_shared()->responded, before + 1);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, ret);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    return ret;
}

START_TEST(overflow_beyond_the_fetch_limit_is_msgsize)
{
    struct session s;
    blob_t large = blob_make(LARGE, 1), medium = blob_make(MEDIUM, 1);

    set("TALARIA_HG_OVERFLOW_MAX", "200000");
    session_begin(&s, _i, &setup);
    log_expect("0 in use, limit 200000: HG_MSGSIZE", 2, 4);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(rpcs_try(&s, RPC_ECHO, &large), HG_MSGSIZE);
        ck_assert_int_eq(make(&s, LARGE), HG_MSGSIZE);
        ck_assert_uint_eq(rpcs_shared()->handled[RPC_ECHO], i);
        ck_assert_int_eq(rpcs_try(&s, RPC_ECHO, &medium), HG_SUCCESS);
        ck_assert_int_eq(make(&s, MEDIUM), HG_SUCCESS);
    }
    blob_free(&large);
    blob_free(&medium);
    session_end(&s);
}
END_TEST

START_TEST(overflow_beyond_the_held_limit_is_again)
{
    struct session s;
    struct call call = {.called = 0};
    uint64_t deadline;
    hg_handle_t handle;
    blob_t large = blob_make(LARGE, 1), medium = blob_make(MEDIUM, 1);
    hg_return_t ret;

    set("TALARIA_HG_OVERFLOW_TOTAL", "500000");
    session_begin(&s, _i, &setup);
    log_expect("limit 500000: HG_AGAIN", 1, UINT32_MAX);
    log_expect("limit 62500: HG_AGAIN", 0, UINT32_MAX);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &large), HG_SUCCESS);
    rpcs_wait_handled(&s, RPC_KEEP, 1);
    ck_assert_int_eq(rpcs_try(&s, RPC_KEEP, &large), HG_AGAIN);
    ck_assert_int_eq(rpcs_try(&s, RPC_CODE, &(int32_t){HG_SUCCESS + 1}), 1);
    ck_assert_uint_eq(rpcs_answer_kept(&s, 1), 1);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    /* The target releases the input after it has responded. */
    deadline = session_now_ms() + test_count(TEST_WAIT_MS);
    while ((ret = rpcs_try(&s, RPC_ECHO, &medium)) == HG_AGAIN)
        ck_assert_uint_lt(session_now_ms(), deadline);
    ck_assert_int_eq(ret, HG_SUCCESS);
    /* Refused bytes are not counted any more. Within one class, the fetched
     * output counts in addition to the held one. */
    while (session_mode_at(_i)->shape != SESSION_SELF &&
           (ret = make(&s, LARGE)) == HG_AGAIN)
        ck_assert_uint_lt(session_now_ms(), deadline);
    ck_assert_int_eq(ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&large);
    blob_free(&medium);
    session_end(&s);
}
END_TEST

START_TEST(overflow_limits_must_be_numbers)
{
    static const char *const names[] = {"TALARIA_HG_OVERFLOW_MAX",
        "TALARIA_HG_OVERFLOW_TOTAL", "TALARIA_HG_ACK_TIMEOUT_MS"};
    static const char *const values[] = {
        "-1", " 1", "1 ", "1k", "0x10", "99999999999999999999"};

    log_watch_begin();
    log_watch_install();
    log_expect("by the variable TALARIA_HG_", 18, 18);
    session_prepare(session_mode_at(0));
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned j = 0; j < 6; j++) {
            set(names[i], values[j]);
            ck_assert_ptr_null(
                session_open_class(session_mode_at(0), &setup, true));
        }
        unsetenv(names[i]);
    }
    log_watch_check();
}
END_TEST

/* Tag and cookie of the last response with a reference. */
static struct {
    uint32_t tag;
    uint32_t cookie;
} seen;

static void
see_reference(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    const unsigned char *at = memmem(message, *length, "RS\1", 3);

    if (kind != LOOP_SEND_EXPECTED || !at || message + *length - at < 40 ||
        !(at[3] & 2))
        return;
    memcpy(&seen.tag, at + 32, 4);
    memcpy(&seen.cookie, at + 36, 4);
}

static void
one_receive(struct hg_init_info *info)
{
    info->request_post_init = 1;
    info->request_post_incr = -1;
}

/* Injects an acknowledgement as the origin would send it, but at another time
 * or with another cookie. */
static void
inject_ack(struct session *s, uint32_t tag, uint32_t cookie)
{
    unsigned char bytes[16] = {'A', 'K', 1, 0};
    hg_size_t size = 256;
    char from[256];
    hg_addr_t self;

    memcpy(bytes + 4, &cookie, 4);
    ck_assert_int_eq(HG_Addr_self(s->hg_class, &self), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_to_string(s->hg_class, from, &size, self), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s->hg_class, self), HG_SUCCESS);
    ck_assert(loop_inject(
        from, s->address, 0, LOOP_SEND_EXPECTED, bytes, sizeof bytes, tag));
}

START_TEST(overflow_duplicate_and_forged_acknowledgements_end_once)
{
    static const struct session_setup setup_one = {.init = one_receive,
        .open = open_own,
        .stopping = rpcs_stopping,
        .origin_listens = true};
    struct session s;
    uint32_t tags[2];

    /* With one class it might be matched as a response. */
    if (session_mode_at(_i)->shape == SESSION_SELF)
        return;
    session_begin(&s, _i, &setup_one);
    loop_tamper_set(see_reference);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(make(&s, LARGE), HG_SUCCESS);
        tags[i] = seen.tag;
        inject_ack(&s, seen.tag, seen.cookie); /* duplicate */
        inject_ack(&s, seen.tag ^ 1, seen.cookie);
    }
    /* The tag of the third response, but an old cookie: ignored. */
    inject_ack(&s, 2 * tags[1] - tags[0], seen.cookie);
    ck_assert_int_eq(make(&s, LARGE), HG_SUCCESS);
    ck_assert_uint_eq(seen.tag, 2 * tags[1] - tags[0]);
    session_quiet(&s);
    ck_assert_uint_eq(rpcs_shared()->responded, 3);
    rpcs_ck_works(&s);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, overflow_beyond_the_fetch_limit_is_msgsize);
    session_add(tcase, overflow_beyond_the_held_limit_is_again);
    tcase_add_test(tcase, overflow_limits_must_be_numbers);
    session_add(tcase, overflow_duplicate_and_forged_acknowledgements_end_once);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "overflow_limits", add);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests altered in one field that no later check covers: which error the
 * origin gets, and that the target does not run them. Data of a failed fetch
 * are neither delivered nor kept. */
#include "counts.h"
#include "large.h"
#include "log_watch.h"

#include <stdlib.h>
#include <string.h>

#define REQUEST_HEADER 32U
#define REFERENCE_SIZE (16U + 32U + 16U + 12U + 32U)
#define SEAL 8U

/* One receive, so that each request lands where the previous one was. */
static void
one_receive(struct hg_init_info *info)
{
    info->request_post_init = 1;
    info->request_post_incr = -1;
}

static const struct session_setup setup = {
    .init = one_receive, .open = large_open, .stopping = rpcs_stopping};

static void
put_number(unsigned char *bytes, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        bytes[i] = (unsigned char) (value >> 8 * i);
}

/* Start of a request in a message, or NULL. */
static unsigned char *
request_in(enum loop_kind kind, unsigned char *message, uint64_t length)
{
    if (kind != LOOP_SEND_UNEXPECTED)
        return NULL;
    return memmem(message, length, "RQ\1", 3);
}

static void
change_version(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    unsigned char *at = request_in(kind, message, *length);

    if (at)
        at[2] = 77;
}

START_TEST(request_of_other_version_is_answered_protocol_error)
{
    struct session s;

    session_begin(&s, _i, &setup);
    log_expect("malformed request", 3, 3);
    for (unsigned i = 0; i < 3; i++) {
        loop_tamper_set(change_version);
        ck_assert_int_eq(rpcs_try(&s, RPC_EMPTY, NULL), HG_PROTOCOL_ERROR);
        loop_tamper_set(NULL);
        rpcs_ck_works(&s);
    }
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_EMPTY], 0);
    session_end(&s);
}
END_TEST

static void
cut_short(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    const unsigned char *at = request_in(kind, message, *length);

    /* Shorter than the transport's header, if that is not empty. */
    if (at)
        *length = at > message ? (uint64_t) (at - message) - 1 : 0;
}

/* The stale bytes behind it, from the previous request, are valid. */
START_TEST(request_shorter_than_the_transport_header_is_dropped)
{
    struct session s;
    struct call call;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    log_expect("malformed request", 3, 3);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
        ck_assert_uint_eq(rpcs_shared()->handled[RPC_EMPTY], i + 1);
        call = (struct call){.called = 0};
        loop_tamper_set(cut_short);
        ck_assert_int_eq(
            HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
        session_quiet(&s);
        loop_tamper_set(NULL);
        ck_assert_uint_eq(log_count("malformed request"), i + 1);
        ck_assert_uint_eq(call.called, 0);
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ck_assert_int_eq(call.ret, HG_CANCELED);
        ck_assert_uint_eq(rpcs_shared()->handled[RPC_EMPTY], i + 1);
    }
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* Replaces every size in a reference to arguments. */
static uint64_t announced;

static void
announce(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    unsigned char *at = request_in(kind, message, *length);

    if (!at || !(at[3] & 2))
        return;
    at += REQUEST_HEADER + 16; /* the descriptor */
    put_number(at + 8, announced, 8);
    at += 32; /* its section: the segment and its registration */
    put_number(at + 16, announced, 8);
    put_number(at + 28 + 16, announced, 8);
}

/* A size that is not refused at once is fetched, and lacks the validity cookie
 * at its end. */
START_TEST(reference_to_the_validity_cookie_alone_is_rejected)
{
    struct session s;
    blob_t in;

    if (!large_fetches(_i) || session_mode_at(_i)->limits)
        return;
    in = blob_make(LARGE, 1);
    session_begin(&s, _i, &setup);
    log_expect("cannot fetch arguments: HG_PROTOCOL_ERROR", 1, 1);
    log_expect("cannot fetch arguments: withdrawn", 1, 1);
    loop_tamper_set(announce);
    announced = SEAL;
    ck_assert_int_eq(rpcs_try(&s, RPC_ECHO, &in), HG_PROTOCOL_ERROR);
    announced = SEAL + 1;
    ck_assert_int_eq(rpcs_try(&s, RPC_ECHO, &in), HG_CANCELED);
    loop_tamper_set(NULL);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_ECHO], 0);
    rpcs_ck_works(&s);
    blob_free(&in);
    session_end(&s);
}
END_TEST

/* Injects a request that refers to unknown arguments by a descriptor of one
 * segment, followed by `more` bytes. */
static void
inject_reference(struct session *s, uint32_t more)
{
    unsigned char bytes[REQUEST_HEADER + REFERENCE_SIZE + 8] = {
        'R', 'Q', 1, 2, 99};
    unsigned char *at = bytes + REQUEST_HEADER;

    put_number(bytes + 8, rpcs_id(RPC_KEEP), 8);
    put_number(bytes + 16, REFERENCE_SIZE + more, 4);
    put_number(at, 0x1122334455667788U, 8);
    at += 16;
    at[0] = 2;
    at[1] = 1;
    at[3] = 1;
    put_number(at + 4, 1, 4);
    put_number(at + 8, 1000, 8);
    at += 32;
    at[1] = 4;
    put_number(at + 4, 1, 4);
    put_number(at + 8, 8 + 4 + 32, 4);
    memcpy(at + 12, "loop", 4);
    put_number(at + 16, 1000, 8);
    put_number(at + 24, 32, 4);
    at += 28;
    put_number(at, 0x314d504c, 4);
    put_number(at + 4, 1, 4);
    put_number(at + 8, 123456789, 8);
    put_number(at + 16, 1000, 8);
    put_number(at + 24, 1, 4);
    ck_assert(loop_inject("mem://1", s->address, 0, LOOP_SEND_UNEXPECTED, bytes,
        REQUEST_HEADER + REFERENCE_SIZE + more, 1));
    rpcs_ck_works(s);
    session_quiet(s);
}

START_TEST(reference_with_trailing_bytes_is_rejected)
{
    struct session s;

    session_begin(&s, _i, &setup);
    log_expect("cannot fetch arguments: HG_PROTOCOL_ERROR", 2, 2);
    inject_reference(&s, 0); /* key of no registration */
    inject_reference(&s, 1);
    inject_reference(&s, 8);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_KEEP], 0);
    session_end(&s);
}
END_TEST

/* HG_Get_output fails and the output stays untouched. */
static void
ck_no_output(hg_handle_t handle)
{
    hg_size_t size = 1;
    void *extra = &size;
    blob_t out;

    ck_assert_int_ne(HG_Get_output(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Get_output_extra_buf(handle, &extra, &size), HG_SUCCESS);
    ck_assert_ptr_null(extra);
    ck_assert_uint_eq(size, 0);
    ck_assert_uint_eq(HG_Get_output_payload_size(handle), 0);
}

#define FAILED 8U

/* Room for three of them. */
START_TEST(failed_fetch_delivers_and_keeps_nothing)
{
    struct session s;
    hg_handle_t handles[FAILED];
    blob_t in;

    if (!large_fetches(_i))
        return;
    in = blob_make(LARGE, 1);
    ck_assert_int_eq(setenv("TALARIA_HG_OVERFLOW_TOTAL", "1000000", 1), 0);
    session_begin(&s, _i, &setup);
    for (unsigned i = 0; i < FAILED; i++) {
        handles[i] = session_handle(&s, large_id(LARGE_MAKE));
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_FAIL_LATER,
                                     .code = NA_PLUGIN_E_IO_ERROR});
        ck_assert_int_eq(session_forward(&s, handles[i], NULL), HG_IO_ERROR);
        ck_no_output(handles[i]);
        ck_assert_int_eq(rpcs_try(&s, RPC_ECHO, &in), HG_IO_ERROR);
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_NORMAL});
        session_wait_other(&s, &rpcs_shared()->responded, i + 1);
    }
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_ECHO], 0);
    ck_assert_int_eq(rpcs_try(&s, RPC_ECHO, &in), HG_SUCCESS);
    for (unsigned i = 0; i < FAILED; i++)
        ck_assert_int_eq(HG_Destroy(handles[i]), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, request_of_other_version_is_answered_protocol_error);
    session_add(tcase, request_shorter_than_the_transport_header_is_dropped);
    session_add(tcase, reference_to_the_validity_cookie_alone_is_rejected);
    session_add(tcase, reference_with_trailing_bytes_is_rejected);
    session_add(tcase, failed_fetch_delivers_and_keeps_nothing);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "wrong_requests", add);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that are not what they should be: requests and answers cut, altered,
 * of other versions, meant for others. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <string.h>

#define REQUEST_HEADER 32U
#define REFERENCE_SIZE (16U + 32U + 16U + 12U + 32U)

/* A hostile size is refused by malloc, which the sanitizer's does not survive
 * otherwise. */
const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static const struct session_setup setup = {
    .open = rpcs_open, .stopping = rpcs_stopping};

/* Bytes behind the transport's header space. */
static unsigned char *
behind_header(enum loop_kind kind, unsigned char *message)
{
    /* Found by its magic, "RQ" or "RS". */
    for (unsigned i = 0; i < 200; i++)
        if (message[i] == 'R')
            return message + i;
    return message;
}

static void
spoil_cookie(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    if (kind == LOOP_SEND_EXPECTED)
        behind_header(kind, message)[4] ^= 0xff;
}

static void
spoil_magic(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    if (kind == LOOP_SEND_EXPECTED)
        behind_header(kind, message)[0] ^= 0xff;
}

static void
spoil_version(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    if (kind == LOOP_SEND_EXPECTED)
        behind_header(kind, message)[2] = 77;
}

static void
spoil_size(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    if (kind == LOOP_SEND_EXPECTED)
        behind_header(kind, message)[9] = 0xff;
}

static void
cut_off(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    if (kind == LOOP_SEND_EXPECTED)
        *length -= 10;
}

/* To less than the transport's header, where that is long. */
static void
cut_short(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    if (kind == LOOP_SEND_EXPECTED)
        *length = 5;
}

static void
spoil_code(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    if (kind == LOOP_SEND_EXPECTED)
        memset(behind_header(kind, message) + 12, 0x7f, 4);
}

START_TEST(wrong_answer_that_is_none_is_an_error)
{
    static const struct {
        loop_tamper_t tamper;
        hg_return_t ret;
    } cases[] = {{spoil_magic, HG_PROTOCOL_ERROR},
        {spoil_version, HG_OPNOTSUPPORTED}, {spoil_size, HG_PROTOCOL_ERROR},
        {cut_off, HG_PROTOCOL_ERROR}, {cut_short, HG_PROTOCOL_ERROR}};
    struct session s;

    session_begin(&s, _i, &setup);
    log_expect("malformed answer", 5, 5);
    for (unsigned i = 0; i < 5; i++) {
        loop_tamper_set(cases[i].tamper);
        ck_assert_int_eq(rpcs_try(&s, RPC_EMPTY, NULL), cases[i].ret);
        loop_tamper_set(NULL);
        rpcs_ck_works(&s);
    }
    loop_tamper_set(spoil_code);
    ck_assert_int_eq(rpcs_try(&s, RPC_EMPTY, NULL), HG_OTHER_ERROR);
    loop_tamper_set(NULL);
    rpcs_ck_works(&s);
    session_end(&s);
}
END_TEST

START_TEST(wrong_answer_to_another_request_is_passed_over)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    loop_tamper_set(spoil_cookie);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    rpcs_wait_handled(&s, RPC_EMPTY, 1);
    session_quiet(&s);
    ck_assert_uint_eq(call.called, 0);
    loop_tamper_set(NULL);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_CANCELED);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* The cancel finds the receive already filled, by what is not its answer: the
 * receive is not to be posted again for ever. */
START_TEST(wrong_cancel_beside_an_answer_to_another_request)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    loop_tamper_set(spoil_cookie);
    loop_fault_set(LOOP_RECV_EXPECTED,
        (struct loop_fault){
            .act = LOOP_LATER, .count = 1, .delay = LOOP_UNHURRIED});
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    rpcs_wait_handled(&s, RPC_EMPTY, 1);
    session_quiet(&s);
    ck_assert_uint_eq(call.called, 0);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    loop_hurry();
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_CANCELED);
    loop_tamper_set(NULL);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* The same when it is not the program that cancels, but a request that could
 * not be sent. */
START_TEST(wrong_answer_beside_a_request_that_cannot_be_sent)
{
    static const unsigned char stale[24] = {'R', 'S', 1, 0, 0xff, 0xff, 0xff};
    static const enum loop_act acts[] = {LOOP_FAIL_NOW, LOOP_FAIL_LATER};
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    for (unsigned i = 0; i < 2; i++) {
        call.called = 0;
        loop_fault_set(
            LOOP_RECV_EXPECTED, (struct loop_fault){.act = LOOP_LATER,
                                    .count = 1,
                                    .delay = LOOP_UNHURRIED,
                                    .stray = stale,
                                    .stray_length = sizeof stale});
        loop_fault_set(LOOP_SEND_UNEXPECTED,
            (struct loop_fault){
                .act = acts[i], .count = 1, .code = NA_PLUGIN_E_IO_ERROR});
        ck_assert_int_eq(
            HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ck_assert_int_eq(call.ret, HG_IO_ERROR);
        loop_hurry();
        session_quiet(&s);
        ck_assert_uint_eq(call.called, 1);
    }
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* A request as it stands on the wire. */
static void
make_request(unsigned char bytes[REQUEST_HEADER], hg_id_t id)
{
    memset(bytes, 0, REQUEST_HEADER);
    bytes[0] = 'R';
    bytes[1] = 'Q';
    bytes[2] = 1;
    bytes[4] = 99;
    for (unsigned i = 0; i < 8; i++)
        bytes[8 + i] = (unsigned char) (id >> 8 * i);
}

START_TEST(wrong_requests_that_are_none_are_passed_over)
{
    unsigned char bytes[REQUEST_HEADER + 64];
    struct session s;
    uint32_t sent = 0;

    session_begin(&s, _i, &setup);
    log_expect("malformed request", 1, 200);
    log_expect("is not registered", 1, 1);
    make_request(bytes, rpcs_id(RPC_NOTIFY));
    for (uint32_t length = 0; length < REQUEST_HEADER; length++, sent++)
        ck_assert(loop_inject(
            "mem://1", s.address, 0, LOOP_SEND_UNEXPECTED, bytes, length, 1));
    for (unsigned i = 0; i < 16; i++, sent++) {
        make_request(bytes, rpcs_id(RPC_NOTIFY));
        bytes[i % 4 < 2 ? i % 4 : 3] ^= (unsigned char) (0x80 >> i / 4);
        ck_assert(loop_inject("mem://1", s.address, 0, LOOP_SEND_UNEXPECTED,
            bytes, REQUEST_HEADER, 1));
    }
    /* More payload than there is. */
    make_request(bytes, rpcs_id(RPC_NOTIFY));
    for (unsigned i = 0; i < 4; i++, sent++) {
        memset(bytes + 16, 0, 4);
        bytes[16 + i] = 65;
        ck_assert(loop_inject("mem://1", s.address, 0, LOOP_SEND_UNEXPECTED,
            bytes, REQUEST_HEADER + 64, 1));
    }
    /* Of another version, and to an unknown RPC: answered, by a code. */
    make_request(bytes, rpcs_id(RPC_NOTIFY));
    bytes[2] = 2;
    ck_assert(loop_inject("mem://1", s.address, 0, LOOP_SEND_UNEXPECTED, bytes,
        REQUEST_HEADER, 1));
    make_request(bytes, 0x123456789abcdefULL);
    ck_assert(loop_inject("mem://1", s.address, 0, LOOP_SEND_UNEXPECTED, bytes,
        REQUEST_HEADER, 1));
    for (unsigned i = 0; i < 10; i++)
        rpcs_ck_works(&s);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_NOTIFY], 0);
    ck_assert_uint_eq(log_count("malformed request"), sent + 1);
    session_end(&s);
}
END_TEST

static void
put_number(unsigned char *bytes, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        bytes[i] = (unsigned char) (value >> 8 * i);
}

/* A request whose arguments are elsewhere, by a descriptor of one part and so
 * many bytes; how long it is. */
static uint64_t
make_reference(unsigned char bytes[REQUEST_HEADER + 128], uint64_t announced,
    uint64_t of_part)
{
    unsigned char *at = bytes + REQUEST_HEADER;

    memset(bytes, 0, REQUEST_HEADER + 128);
    make_request(bytes, rpcs_id(RPC_KEEP));
    bytes[3] = 2;
    put_number(bytes + 16, REFERENCE_SIZE, 4);
    put_number(at, 0x1122334455667788U, 8); /* the validity cookie */
    at += 16;
    at[0] = 2; /* version */
    at[1] = 1; /* to be read */
    at[3] = 1; /* one section */
    put_number(at + 4, 1, 4);
    put_number(at + 8, announced, 8);
    at += 32;
    at[1] = 4;
    put_number(at + 4, 1, 4);
    put_number(at + 8, 8 + 4 + 32, 4);
    memcpy(at + 12, "loop", 4);
    put_number(at + 16, of_part, 8);
    put_number(at + 24, 32, 4);
    at += 28; /* a registration as the loop plugin writes it */
    put_number(at, 0x314d504c, 4);
    put_number(at + 4, 1, 4);
    put_number(at + 8, 123456789, 8);
    put_number(at + 16, of_part, 8);
    put_number(at + 24, 1, 4);
    return REQUEST_HEADER + REFERENCE_SIZE;
}

START_TEST(wrong_references_are_refused)
{
    static const uint64_t sizes[] = {
        0, 1, 8, 9, 1 << 20, 1ULL << 62, INT64_MAX, 1ULL << 63, UINT64_MAX};
    unsigned char bytes[REQUEST_HEADER + 128];
    struct session s;

    session_begin(&s, _i, &setup);
    log_expect("malformed descriptor", 1, 2000);
    log_expect("cannot fetch arguments", 1, 2000);
    log_expect("bytes of arguments", 0, 2000);
    log_expect("a payload of", 0, 2000);
    log_expect("malformed request", 0, 2000);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (unsigned j = 0; j < 2; j++) {
            uint64_t length = make_reference(bytes, sizes[i], sizes[i] - j);

            ck_assert(loop_inject("mem://1", s.address, 0, LOOP_SEND_UNEXPECTED,
                bytes, length, 1));
        }
    /* Cut anywhere, with a payload size that agrees. */
    for (unsigned size = 0; size < REFERENCE_SIZE; size++) {
        make_reference(bytes, 1000, 1000);
        put_number(bytes + 16, size, 4);
        ck_assert(loop_inject("mem://1", s.address, 0, LOOP_SEND_UNEXPECTED,
            bytes, REQUEST_HEADER + size, 1));
    }
    for (unsigned i = 0; i < 10; i++)
        rpcs_ck_works(&s);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_KEEP], 0);
    session_end(&s);
}
END_TEST

/* What says that a request is given up, for requests that nobody made. */
START_TEST(wrong_notices_are_passed_over)
{
    unsigned char bytes[8] = {'G', 'Q', 1, 0, 99};
    struct session s;

    session_begin(&s, _i, &setup);
    log_expect("malformed request", 9, 9);
    for (uint32_t length = 0; length < 8; length++)
        ck_assert(loop_inject(
            "mem://1", s.address, 0, LOOP_SEND_UNEXPECTED, bytes, length, 1));
    bytes[2] = 2;
    ck_assert(loop_inject(
        "mem://1", s.address, 0, LOOP_SEND_UNEXPECTED, bytes, 8, 1));
    bytes[2] = 1;
    for (unsigned i = 0; i < 200; i++) {
        bytes[4] = (unsigned char) i;
        ck_assert(loop_inject(
            "mem://1", s.address, 0, LOOP_SEND_UNEXPECTED, bytes, 8, i));
    }
    for (unsigned i = 0; i < 10; i++)
        rpcs_ck_works(&s);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, wrong_answer_that_is_none_is_an_error);
    session_add(tcase, wrong_answer_to_another_request_is_passed_over);
    session_add(tcase, wrong_cancel_beside_an_answer_to_another_request);
    session_add(tcase, wrong_answer_beside_a_request_that_cannot_be_sent);
    session_add(tcase, wrong_requests_that_are_none_are_passed_over);
    session_add(tcase, wrong_references_are_refused);
    session_add(tcase, wrong_notices_are_passed_over);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "wrong_bytes", add);
}

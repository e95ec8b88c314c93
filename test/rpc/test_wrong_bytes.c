/* SPDX-License-Identifier: BSD-3-Clause */
/* Malformed messages: requests and responses that are truncated, altered, of
 * other versions, or meant for other calls. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <string.h>

#define REQUEST_HEADER 32U
#define REFERENCE_SIZE (16U + 32U + 16U + 12U + 32U)

/* A hostile size makes malloc fail, on which the sanitizer's would abort by
 * default. */
const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static const struct session_setup setup = {
    .open = rpcs_open, .stopping = rpcs_stopping};

/* Bytes after the transport's header. */
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

/* Turns the answer into one to the previous request. */
static void
earlier_cookie(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    unsigned char *at = behind_header(kind, message) + 4;
    uint32_t cookie;

    if (kind != LOOP_SEND_EXPECTED)
        return;
    memcpy(&cookie, at, sizeof cookie);
    cookie--;
    memcpy(at, &cookie, sizeof cookie);
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

/* Shorter than the transport's header where that is long. */
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

START_TEST(malformed_answer_fails_the_call)
{
    static const struct {
        loop_tamper_t tamper;
        hg_return_t ret;
    } cases[] = {{spoil_magic, HG_PROTOCOL_ERROR},
        {spoil_version, HG_OPNOTSUPPORTED}, {spoil_size, HG_PROTOCOL_ERROR},
        {cut_off, HG_PROTOCOL_ERROR}, {cut_short, HG_PROTOCOL_ERROR}};
    struct session s;

    session_begin(&s, _i, &setup);
    log_expect("malformed response", 5, 5);
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

START_TEST(mismatched_answer_is_ignored)
{
    static const loop_tamper_t tampers[] = {spoil_cookie, earlier_cookie};
    struct session s;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    for (unsigned i = 0; i < 2; i++) {
        struct call call = {.called = 0};

        loop_tamper_set(tampers[i]);
        ck_assert_int_eq(
            HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
        rpcs_wait_handled(&s, RPC_EMPTY, 2 * i + 1);
        session_quiet(&s);
        ck_assert_uint_eq(call.called, 0);
        loop_tamper_set(NULL);
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ck_assert_int_eq(call.ret, HG_CANCELED);
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    }
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* The receive that is cancelled has already received a response to another
 * request: it must not be posted again forever. */
START_TEST(mismatched_answer_during_cancel_is_not_reposted)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    loop_tamper_set(spoil_cookie);
    loop_fault_set(LOOP_RECV_EXPECTED,
        (struct loop_fault){
            .act = LOOP_LATER, .count = 1, .delay = LOOP_DELAY_MAX});
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    rpcs_wait_handled(&s, RPC_EMPTY, 1);
    session_quiet(&s);
    ck_assert_uint_eq(call.called, 0);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    loop_expire_delays();
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_CANCELED);
    loop_tamper_set(NULL);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* The same when the receive is cancelled because the request could not be
 * sent. */
START_TEST(mismatched_answer_with_failed_send_is_not_reposted)
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
                                    .delay = LOOP_DELAY_MAX,
                                    .stray = stale,
                                    .stray_length = sizeof stale});
        loop_fault_set(LOOP_SEND_UNEXPECTED,
            (struct loop_fault){
                .act = acts[i], .count = 1, .code = NA_PLUGIN_E_IO_ERROR});
        ck_assert_int_eq(
            HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ck_assert_int_eq(call.ret, HG_IO_ERROR);
        loop_expire_delays();
        session_quiet(&s);
        ck_assert_uint_eq(call.called, 1);
    }
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* Encodes a request. */
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

START_TEST(malformed_requests_are_dropped)
{
    unsigned char bytes[REQUEST_HEADER + 64];
    struct session s;
    uint32_t sent = 0;

    session_begin(&s, _i, &setup);
    log_expect("malformed request", 1, 200);
    log_expect("not registered", 1, 1);
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
    /* Announces more payload than there is. */
    make_request(bytes, rpcs_id(RPC_NOTIFY));
    for (unsigned i = 0; i < 4; i++, sent++) {
        memset(bytes + 16, 0, 4);
        bytes[16 + i] = 65;
        ck_assert(loop_inject("mem://1", s.address, 0, LOOP_SEND_UNEXPECTED,
            bytes, REQUEST_HEADER + 64, 1));
    }
    /* Another version and an unknown RPC: answered with an error code. */
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

/* Encodes a request with a reference to arguments: a descriptor of one segment,
 * of so many bytes. Returns its length. */
static uint64_t
make_reference(unsigned char bytes[REQUEST_HEADER + 128], uint64_t announced,
    uint64_t of_part)
{
    unsigned char *at = bytes + REQUEST_HEADER;

    memset(bytes, 0, REQUEST_HEADER + 128);
    make_request(bytes, rpcs_id(RPC_KEEP));
    bytes[3] = 2;
    put_number(bytes + 16, REFERENCE_SIZE, 4);
    put_number(at, 0x1122334455667788U, 8); /* validity cookie */
    at += 16;
    at[0] = 2; /* version */
    at[1] = 1; /* access: read */
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

START_TEST(malformed_references_are_rejected)
{
    static const uint64_t sizes[] = {
        0, 1, 8, 9, 1 << 20, 1ULL << 62, INT64_MAX, 1ULL << 63, UINT64_MAX};
    unsigned char bytes[REQUEST_HEADER + 128];
    struct session s;

    session_begin(&s, _i, &setup);
    log_expect("malformed descriptor", 1, 2000);
    log_expect("cannot fetch arguments", 1, 2000);
    log_expect("bytes of arguments", 0, 2000);
    log_expect("payload of", 0, 2000);
    log_expect("malformed request", 0, 2000);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (unsigned j = 0; j < 2; j++) {
            uint64_t length = make_reference(bytes, sizes[i], sizes[i] - j);

            ck_assert(loop_inject("mem://1", s.address, 0, LOOP_SEND_UNEXPECTED,
                bytes, length, 1));
        }
    /* Truncated at each byte, with a matching payload size. */
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

/* Cancel messages for unknown requests. */
START_TEST(unknown_cancel_messages_are_ignored)
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
    session_add(tcase, malformed_answer_fails_the_call);
    session_add(tcase, mismatched_answer_is_ignored);
    session_add(tcase, mismatched_answer_during_cancel_is_not_reposted);
    session_add(tcase, mismatched_answer_with_failed_send_is_not_reposted);
    session_add(tcase, malformed_requests_are_dropped);
    session_add(tcase, malformed_references_are_rejected);
    session_add(tcase, unknown_cancel_messages_are_ignored);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "wrong_bytes", add);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The headers of requests and responses: their encoding, and every invalid
 * form. */
#include "hg/header.h"

#include "log_watch.h"
#include "runner.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const struct hg_header_request request = {
    .flags = HG_HEADER_NO_RESPONSE,
    .context_id = 0xa7,
    .cookie = 0x04030201,
    .payload_size = 5,
    .id = 0x1817161514131211,
};

/* An encoded request with its payload. */
static const unsigned char request_bytes[HG_HEADER_REQUEST_SIZE + 5] = {0x52,
    0x51,                                           /* "RQ" */
    0x01, 0x01,                                     /* version, flags */
    0x01, 0x02, 0x03, 0x04,                         /* cookie */
    0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, /* id */
    0x05, 0x00, 0x00, 0x00,                         /* bytes of payload */
    0xa7, 0x00, 0x00, 0x00,                         /* context, reserved */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* reserved */
    'h', 'e', 'l', 'l', 'o'};

static const struct hg_header_response response = {
    .cookie = 0x84838281, .payload_size = 3, .ret = HG_NOENTRY};

static const unsigned char response_bytes[HG_HEADER_RESPONSE_SIZE + 3] = {0x52,
    0x53,                                           /* "RS" */
    0x01, 0x00,                                     /* version, flags */
    0x81, 0x82, 0x83, 0x84,                         /* cookie */
    0x03, 0x00, 0x00, 0x00,                         /* bytes of payload */
    0x02, 0x00, 0x00, 0x00,                         /* HG_NOENTRY */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* reserved */
    'y', 'e', 's'};

/* Decodes from an allocation of exactly that size, so that AddressSanitizer
 * detects reads beyond it. */
static hg_return_t
decode_request(
    const void *bytes, size_t size, struct hg_header_request *header_p)
{
    void *block = malloc(size > 0 ? size : 1);
    hg_return_t ret;

    ck_assert_ptr_nonnull(block);
    memcpy(block, bytes, size);
    ret = hg_header_request_decode(block, size, header_p);
    free(block);
    return ret;
}

static hg_return_t
decode_response(
    const void *bytes, size_t size, struct hg_header_response *header_p)
{
    void *block = malloc(size > 0 ? size : 1);
    hg_return_t ret;

    ck_assert_ptr_nonnull(block);
    memcpy(block, bytes, size);
    ret = hg_header_response_decode(block, size, header_p);
    free(block);
    return ret;
}

/* Result of decoding a request with one byte changed. */
static hg_return_t
decode_request_with(
    size_t at, unsigned char byte, struct hg_header_request *header_p)
{
    unsigned char bytes[sizeof request_bytes];

    memcpy(bytes, request_bytes, sizeof bytes);
    bytes[at] = byte;
    return decode_request(bytes, sizeof bytes, header_p);
}

static hg_return_t
decode_response_with(
    size_t at, unsigned char byte, struct hg_header_response *header_p)
{
    unsigned char bytes[sizeof response_bytes];

    memcpy(bytes, response_bytes, sizeof bytes);
    bytes[at] = byte;
    return decode_response(bytes, sizeof bytes, header_p);
}

START_TEST(request_encoded_has_golden_bytes)
{
    unsigned char bytes[HG_HEADER_REQUEST_SIZE + 2];

    memset(bytes, 0xee, sizeof bytes);
    hg_header_request_encode(bytes + 1, &request); /* at any alignment */
    for (size_t i = 0; i < HG_HEADER_REQUEST_SIZE; i++)
        ck_assert_msg(bytes[1 + i] == request_bytes[i],
            "byte %zu is 0x%02x, not 0x%02x", i, bytes[1 + i],
            request_bytes[i]);
    ck_assert_uint_eq(bytes[0], 0xee);
    ck_assert_uint_eq(bytes[sizeof bytes - 1], 0xee);
}
END_TEST

START_TEST(request_golden_bytes_decoded)
{
    struct hg_header_request got;

    ck_assert_int_eq(
        decode_request(request_bytes, sizeof request_bytes, &got), HG_SUCCESS);
    ck_assert_uint_eq(got.flags, request.flags);
    ck_assert_uint_eq(got.context_id, request.context_id);
    ck_assert_uint_eq(got.cookie, request.cookie);
    ck_assert_uint_eq(got.payload_size, request.payload_size);
    ck_assert_uint_eq(got.id, request.id);
}
END_TEST

START_TEST(request_truncated_anywhere_is_protocol_error)
{
    struct hg_header_request got;

    for (size_t size = 0; size < sizeof request_bytes; size++)
        ck_assert_msg(
            decode_request(request_bytes, size, &got) == HG_PROTOCOL_ERROR,
            "%zu bytes", size);
}
END_TEST

START_TEST(request_of_other_magic_is_protocol_error)
{
    struct hg_header_request got;

    for (unsigned byte = 0; byte < 256; byte++) {
        if (byte != request_bytes[0])
            ck_assert_int_eq(decode_request_with(0, (unsigned char) byte, &got),
                HG_PROTOCOL_ERROR);
        if (byte != request_bytes[1])
            ck_assert_int_eq(decode_request_with(1, (unsigned char) byte, &got),
                HG_PROTOCOL_ERROR);
    }
    ck_assert_int_eq(
        decode_request(response_bytes, sizeof response_bytes, &got),
        HG_PROTOCOL_ERROR);
}
END_TEST

/* Of another version only the cookie is read: length and flags may differ. */
START_TEST(request_of_other_version_gives_cookie)
{
    struct hg_header_request got = {.id = 77, .payload_size = 78};
    unsigned char bytes[8];

    for (unsigned byte = 0; byte < 256; byte++)
        if (byte != HG_HEADER_VERSION) {
            got.cookie = 0;
            ck_assert_int_eq(decode_request_with(2, (unsigned char) byte, &got),
                HG_OPNOTSUPPORTED);
            ck_assert_uint_eq(got.cookie, request.cookie);
        }
    memcpy(bytes, request_bytes, sizeof bytes);
    bytes[2] = HG_HEADER_VERSION + 1;
    bytes[3] = 0xff;
    got.cookie = 0;
    ck_assert_int_eq(
        decode_request(bytes, sizeof bytes, &got), HG_OPNOTSUPPORTED);
    ck_assert_uint_eq(got.cookie, request.cookie);
    ck_assert_uint_eq(got.id, 77);
    ck_assert_uint_eq(got.payload_size, 78);
    bytes[0] ^= 1;
    ck_assert_int_eq(
        decode_request(bytes, sizeof bytes, &got), HG_PROTOCOL_ERROR);
}
END_TEST

START_TEST(request_of_unknown_flags_is_protocol_error)
{
    unsigned known = HG_HEADER_NO_RESPONSE | HG_HEADER_MORE | HG_HEADER_SUMS;
    struct hg_header_request got;

    for (unsigned byte = 0; byte < 256; byte++)
        ck_assert_int_eq(decode_request_with(3, (unsigned char) byte, &got),
            byte & ~known           ? HG_PROTOCOL_ERROR
            : byte & HG_HEADER_SUMS ? HG_CHECKSUM_ERROR
                                    : HG_SUCCESS);
    ck_assert_int_eq(decode_request_with(3, 0, &got), HG_SUCCESS);
    ck_assert_uint_eq(got.flags, 0);
}
END_TEST

START_TEST(request_payload_beyond_message_is_protocol_error)
{
    struct hg_header_request got;

    ck_assert_int_eq(decode_request_with(16, 6, &got), HG_PROTOCOL_ERROR);
    ck_assert_int_eq(decode_request_with(19, 0x80, &got), HG_PROTOCOL_ERROR);
    ck_assert_int_eq(decode_request_with(16, 4, &got), HG_SUCCESS);
    ck_assert_uint_eq(got.payload_size, 4);
    ck_assert_int_eq(decode_request_with(16, 0, &got), HG_SUCCESS);
    ck_assert_uint_eq(got.payload_size, 0);
}
END_TEST

/* A later minor version may use them. */
START_TEST(request_reserved_bytes_ignored)
{
    struct hg_header_request got;

    for (size_t at = 21; at < HG_HEADER_REQUEST_SIZE; at++) {
        if (at >= 24 && at < 28) /* a checksum */
            continue;
        ck_assert_int_eq(decode_request_with(at, 0xff, &got), HG_SUCCESS);
        ck_assert_uint_eq(got.context_id, request.context_id);
        ck_assert_uint_eq(got.payload_size, request.payload_size);
    }
}
END_TEST

START_TEST(response_encoded_has_golden_bytes)
{
    unsigned char bytes[HG_HEADER_RESPONSE_SIZE + 2];

    memset(bytes, 0xee, sizeof bytes);
    hg_header_response_encode(bytes + 1, &response);
    for (size_t i = 0; i < HG_HEADER_RESPONSE_SIZE; i++)
        ck_assert_msg(bytes[1 + i] == response_bytes[i],
            "byte %zu is 0x%02x, not 0x%02x", i, bytes[1 + i],
            response_bytes[i]);
    ck_assert_uint_eq(bytes[0], 0xee);
    ck_assert_uint_eq(bytes[sizeof bytes - 1], 0xee);
}
END_TEST

START_TEST(response_golden_bytes_decoded)
{
    struct hg_header_response got;

    ck_assert_int_eq(
        decode_response(response_bytes, sizeof response_bytes, &got),
        HG_SUCCESS);
    ck_assert_uint_eq(got.cookie, response.cookie);
    ck_assert_uint_eq(got.payload_size, response.payload_size);
    ck_assert_int_eq(got.ret, response.ret);
}
END_TEST

START_TEST(response_truncated_anywhere_is_protocol_error)
{
    struct hg_header_response got;

    for (size_t size = 0; size < sizeof response_bytes; size++)
        ck_assert_msg(
            decode_response(response_bytes, size, &got) == HG_PROTOCOL_ERROR,
            "%zu bytes", size);
}
END_TEST

START_TEST(response_of_other_magic_is_protocol_error)
{
    struct hg_header_response got;

    for (unsigned byte = 0; byte < 256; byte++) {
        if (byte != response_bytes[0])
            ck_assert_int_eq(
                decode_response_with(0, (unsigned char) byte, &got),
                HG_PROTOCOL_ERROR);
        if (byte != response_bytes[1])
            ck_assert_int_eq(
                decode_response_with(1, (unsigned char) byte, &got),
                HG_PROTOCOL_ERROR);
    }
    ck_assert_int_eq(decode_response(request_bytes, sizeof request_bytes, &got),
        HG_PROTOCOL_ERROR);
}
END_TEST

START_TEST(response_of_other_version_gives_cookie)
{
    struct hg_header_response got = {.payload_size = 78, .ret = HG_BUSY};

    for (unsigned byte = 0; byte < 256; byte++)
        if (byte != HG_HEADER_VERSION) {
            got.cookie = 0;
            ck_assert_int_eq(
                decode_response_with(2, (unsigned char) byte, &got),
                HG_OPNOTSUPPORTED);
            ck_assert_uint_eq(got.cookie, response.cookie);
        }
    ck_assert_uint_eq(got.payload_size, 78);
    ck_assert_int_eq(got.ret, HG_BUSY);
}
END_TEST

START_TEST(response_of_unknown_flags_is_protocol_error)
{
    struct hg_header_response got;

    for (unsigned byte = 0; byte < 256; byte++) {
        hg_return_t ret = decode_response_with(3, (unsigned char) byte, &got);

        ck_assert_int_eq(ret, byte & ~(HG_HEADER_MORE | HG_HEADER_SUMS)
                                  ? HG_PROTOCOL_ERROR
                              : byte & HG_HEADER_SUMS ? HG_CHECKSUM_ERROR
                                                      : HG_SUCCESS);
        if (ret == HG_SUCCESS)
            ck_assert_uint_eq(got.flags, byte);
    }
}
END_TEST

/* The flags are at the same place in requests and responses. */
START_TEST(more_is_flag_two_of_both)
{
    struct hg_header_request more_request = request;
    struct hg_header_response more_response = response;
    unsigned char bytes[HG_HEADER_REQUEST_SIZE];

    more_request.flags |= HG_HEADER_MORE;
    hg_header_request_encode(bytes, &more_request);
    ck_assert_uint_eq(bytes[3], 0x03);
    more_response.flags = HG_HEADER_MORE;
    hg_header_response_encode(bytes, &more_response);
    ck_assert_uint_eq(bytes[3], 0x02);
}
END_TEST

START_TEST(more_has_golden_bytes)
{
    static const unsigned char golden[HG_HEADER_MORE_SIZE] = {0x11, 0x12, 0x13,
        0x14, 0x15, 0x16, 0x17, 0x18, /* validity cookie */
        0x21, 0x22, 0x23, 0x24,       /* tag */
        0x31, 0x32, 0x33, 0x34};      /* cookie */
    const struct hg_header_more more = {.validity = 0x1817161514131211,
        .tag = 0x24232221,
        .cookie = 0x34333231};
    struct hg_header_more got;
    unsigned char bytes[HG_HEADER_MORE_SIZE + 1];

    hg_header_more_encode(bytes + 1, &more);
    ck_assert_mem_eq(bytes + 1, golden, sizeof golden);
    hg_header_more_decode(bytes + 1, &got);
    ck_assert_uint_eq(got.validity, more.validity);
    ck_assert_uint_eq(got.tag, more.tag);
    ck_assert_uint_eq(got.cookie, more.cookie);
}
END_TEST

static const unsigned char ack_bytes[HG_HEADER_ACK_SIZE] = {0x41, 0x4b, /* AK */
    0x01, 0x00,              /* version, flags */
    0x51, 0x52, 0x53, 0x54,  /* cookie */
    0x15, 0x00, 0x00, 0x00,  /* HG_CANCELED */
    0x00, 0x00, 0x00, 0x00}; /* reserved */

START_TEST(ack_has_golden_bytes)
{
    const struct hg_header_ack ack = {.cookie = 0x54535251, .ret = HG_CANCELED};
    struct hg_header_ack got;
    unsigned char bytes[HG_HEADER_ACK_SIZE + 1];

    hg_header_ack_encode(bytes + 1, &ack);
    ck_assert_mem_eq(bytes + 1, ack_bytes, sizeof ack_bytes);
    ck_assert_int_eq(
        hg_header_ack_decode(bytes + 1, sizeof ack_bytes, &got), HG_SUCCESS);
    ck_assert_uint_eq(got.cookie, ack.cookie);
    ck_assert_int_eq(got.ret, ack.ret);
}
END_TEST

/* Decodes from an allocation of exactly that size. */
static hg_return_t
decode_ack(const unsigned char *bytes, size_t size, struct hg_header_ack *ack_p)
{
    unsigned char *block = malloc(size > 0 ? size : 1);
    hg_return_t ret;

    ck_assert_ptr_nonnull(block);
    memcpy(block, bytes, size);
    ret = hg_header_ack_decode(block, size, ack_p);
    free(block);
    return ret;
}

static const unsigned char golden_request_sum[4] = {0xf6, 0x4f, 0xd7, 0xd7};
static const unsigned char golden_response_sum[4] = {0xa3, 0x5f, 0x2d, 0x6f};
static const unsigned char golden_ack_sum[4] = {0x95, 0xc8, 0x12, 0x89};

START_TEST(sums_have_golden_bytes)
{
    struct hg_header_request got;
    struct hg_header_response got_response;
    unsigned char bytes[sizeof request_bytes];

    memcpy(bytes, request_bytes, sizeof bytes);
    bytes[3] |= HG_HEADER_SUM;
    hg_header_sum_put(bytes, HG_HEADER_REQUEST_SIZE,
        HG_HEADER_SUM_AT(HG_HEADER_REQUEST_SIZE));
    ck_assert_mem_eq(bytes + 24, golden_request_sum, 4);
    ck_assert_mem_eq(bytes + 28, request_bytes + 28, 4);
    ck_assert_int_eq(decode_request(bytes, sizeof bytes, &got), HG_SUCCESS);
    for (unsigned i = 4; i < HG_HEADER_REQUEST_SIZE; i++) {
        bytes[i] ^= 0x80;
        ck_assert_int_eq(
            decode_request(bytes, sizeof bytes, &got), HG_CHECKSUM_ERROR);
        bytes[i] ^= 0x80;
    }
    memcpy(bytes, response_bytes, sizeof response_bytes);
    bytes[3] |= HG_HEADER_SUM;
    hg_header_sum_put(bytes, HG_HEADER_RESPONSE_SIZE,
        HG_HEADER_SUM_AT(HG_HEADER_RESPONSE_SIZE));
    ck_assert_mem_eq(bytes + 16, golden_response_sum, 4);
    for (unsigned i = 4; i < HG_HEADER_RESPONSE_SIZE; i++) {
        bytes[i] ^= 0x80;
        ck_assert_int_eq(
            decode_response(bytes, sizeof response_bytes, &got_response),
            HG_CHECKSUM_ERROR);
        bytes[i] ^= 0x80;
    }
}
END_TEST

/* The altered bit may be the flag that announces the header's checksum. */
START_TEST(sums_without_their_flag_are_checksum_errors)
{
    struct hg_header_request got;
    struct hg_header_response got_response;
    struct hg_header_ack got_ack;
    unsigned char bytes[sizeof ack_bytes];

    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(
            decode_request_with(24 + i, 0x10, &got), HG_CHECKSUM_ERROR);
        ck_assert_int_eq(decode_request_with(28 + i, 0x10, &got), HG_SUCCESS);
        ck_assert_int_eq(decode_response_with(16 + i, 0x10, &got_response),
            HG_CHECKSUM_ERROR);
        ck_assert_int_eq(
            decode_response_with(20 + i, 0x10, &got_response), HG_SUCCESS);
        memcpy(bytes, ack_bytes, sizeof bytes);
        bytes[12 + i] = 0x10;
        ck_assert_int_eq(hg_header_ack_decode(bytes, sizeof bytes, &got_ack),
            HG_CHECKSUM_ERROR);
    }
}
END_TEST

START_TEST(cancel_message_has_golden_bytes)
{
    static const unsigned char golden[8] = {0x47, 0x51, /* "GQ" */
        0x01, 0x00,                                     /* version, flags */
        0x61, 0x62, 0x63, 0x64};                        /* cookie */
    const struct hg_header_front front =
        hg_header_front_make(HG_HEADER_MAGIC_CANCEL, 0, 0x64636261);

    ck_assert_uint_eq(sizeof front, sizeof golden);
    ck_assert_mem_eq(&front, golden, sizeof golden);
}
END_TEST

START_TEST(ack_with_a_sum_is_checked)
{
    const struct hg_header_ack ack = {
        .flags = HG_HEADER_SUM, .cookie = 0x54535251, .ret = HG_CANCELED};
    struct hg_header_ack got;
    unsigned char bytes[HG_HEADER_ACK_SIZE];

    hg_header_ack_encode(bytes, &ack);
    ck_assert_mem_eq(bytes + 12, golden_ack_sum, 4);
    ck_assert_int_eq(
        hg_header_ack_decode(bytes, sizeof bytes, &got), HG_SUCCESS);
    for (unsigned i = 4; i < HG_HEADER_ACK_SIZE; i++) {
        bytes[i] ^= 0x80;
        ck_assert_int_eq(
            hg_header_ack_decode(bytes, sizeof bytes, &got), HG_CHECKSUM_ERROR);
        bytes[i] ^= 0x80;
    }
}
END_TEST

START_TEST(ack_malformed_is_an_error)
{
    struct hg_header_ack got;
    unsigned char bytes[sizeof ack_bytes];

    for (size_t size = 0; size < sizeof ack_bytes; size++)
        ck_assert_int_eq(decode_ack(ack_bytes, size, &got), HG_PROTOCOL_ERROR);
    for (size_t at = 0; at < 4; at++) {
        memcpy(bytes, ack_bytes, sizeof bytes);
        bytes[at] ^= 0x40;
        ck_assert_int_eq(decode_ack(bytes, sizeof bytes, &got),
            at == 2 ? HG_OPNOTSUPPORTED : HG_PROTOCOL_ERROR);
    }
    memcpy(bytes, ack_bytes, sizeof bytes);
    bytes[9] = 1;
    ck_assert_int_eq(decode_ack(bytes, sizeof bytes, &got), HG_SUCCESS);
    ck_assert_int_eq(got.ret, HG_OTHER_ERROR);
    ck_assert_int_eq(decode_ack(response_bytes, sizeof response_bytes, &got),
        HG_PROTOCOL_ERROR);
}
END_TEST

START_TEST(response_payload_beyond_message_is_protocol_error)
{
    struct hg_header_response got;

    ck_assert_int_eq(decode_response_with(8, 4, &got), HG_PROTOCOL_ERROR);
    ck_assert_int_eq(decode_response_with(11, 0x80, &got), HG_PROTOCOL_ERROR);
    ck_assert_int_eq(decode_response_with(8, 2, &got), HG_SUCCESS);
    ck_assert_uint_eq(got.payload_size, 2);
}
END_TEST

START_TEST(response_every_code_survives_trip)
{
    struct hg_header_response header = response, got;
    unsigned char bytes[HG_HEADER_RESPONSE_SIZE];

    header.payload_size = 0;
    for (int code = HG_SUCCESS; code < HG_RETURN_MAX; code++) {
        header.ret = (hg_return_t) code;
        hg_header_response_encode(bytes, &header);
        ck_assert_int_eq(
            decode_response(bytes, sizeof bytes, &got), HG_SUCCESS);
        ck_assert_int_eq(got.ret, header.ret);
    }
}
END_TEST

START_TEST(response_unknown_code_is_other_error)
{
    struct hg_header_response got;

    ck_assert_int_eq(decode_response_with(12, HG_RETURN_MAX, &got), HG_SUCCESS);
    ck_assert_int_eq(got.ret, HG_OTHER_ERROR);
    ck_assert_int_eq(decode_response_with(15, 0xff, &got), HG_SUCCESS);
    ck_assert_int_eq(got.ret, HG_OTHER_ERROR);
}
END_TEST

static void
begin(void)
{
    log_watch_begin();
    log_watch_install();
}

int
main(void)
{
    TCase *tcase = tcase_create("header");

    tcase_add_checked_fixture(tcase, begin, log_watch_check);
    tcase_add_test(tcase, request_encoded_has_golden_bytes);
    tcase_add_test(tcase, request_golden_bytes_decoded);
    tcase_add_test(tcase, request_truncated_anywhere_is_protocol_error);
    tcase_add_test(tcase, request_of_other_magic_is_protocol_error);
    tcase_add_test(tcase, request_of_other_version_gives_cookie);
    tcase_add_test(tcase, request_of_unknown_flags_is_protocol_error);
    tcase_add_test(tcase, request_payload_beyond_message_is_protocol_error);
    tcase_add_test(tcase, request_reserved_bytes_ignored);
    tcase_add_test(tcase, response_encoded_has_golden_bytes);
    tcase_add_test(tcase, response_golden_bytes_decoded);
    tcase_add_test(tcase, response_truncated_anywhere_is_protocol_error);
    tcase_add_test(tcase, response_of_other_magic_is_protocol_error);
    tcase_add_test(tcase, response_of_other_version_gives_cookie);
    tcase_add_test(tcase, response_of_unknown_flags_is_protocol_error);
    tcase_add_test(tcase, more_is_flag_two_of_both);
    tcase_add_test(tcase, more_has_golden_bytes);
    tcase_add_test(tcase, ack_has_golden_bytes);
    tcase_add_test(tcase, sums_have_golden_bytes);
    tcase_add_test(tcase, sums_without_their_flag_are_checksum_errors);
    tcase_add_test(tcase, cancel_message_has_golden_bytes);
    tcase_add_test(tcase, ack_with_a_sum_is_checked);
    tcase_add_test(tcase, ack_malformed_is_an_error);
    tcase_add_test(tcase, response_payload_beyond_message_is_protocol_error);
    tcase_add_test(tcase, response_every_code_survives_trip);
    tcase_add_test(tcase, response_unknown_code_is_other_error);
    return run_tcase("header", tcase);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The headers of requests, answers, references and acknowledgements: what is
 * decoded is encoded and decoded again, and is the same.
 *
 *   u8 kind, u8 1: the checksum is put right, the header */
#include "fuzz.h"

#include "hg/header.h"

#include <stdlib.h>

static void
request(const uint8_t *bytes, size_t size)
{
    struct hg_header_request header = {0}, again = {0};
    uint8_t wire[HG_HEADER_REQUEST_SIZE];

    if (hg_header_request_decode(bytes, size, &header) != HG_SUCCESS)
        return;
    fuzz_require(header.payload_size <= size - sizeof wire);
    hg_header_request_encode(wire, &header);
    if (header.flags & HG_HEADER_SUMS)
        hg_header_sum_put(wire, sizeof wire, HG_HEADER_SUM_AT(sizeof wire));
    header.payload_size = 0; /* none here */
    memset(wire + 16, 0, 4);
    if (header.flags & HG_HEADER_SUMS)
        hg_header_sum_put(wire, sizeof wire, HG_HEADER_SUM_AT(sizeof wire));
    fuzz_require(
        hg_header_request_decode(wire, sizeof wire, &again) == HG_SUCCESS);
    fuzz_require(again.flags == header.flags && again.id == header.id &&
                 again.cookie == header.cookie &&
                 again.context_id == header.context_id);
}

static void
response(const uint8_t *bytes, size_t size)
{
    struct hg_header_response header = {0}, again = {0};
    uint8_t wire[HG_HEADER_RESPONSE_SIZE];

    if (hg_header_response_decode(bytes, size, &header) != HG_SUCCESS)
        return;
    fuzz_require(header.payload_size <= size - sizeof wire);
    fuzz_require(header.ret < HG_RETURN_MAX);
    header.payload_size = 0;
    hg_header_response_encode(wire, &header);
    if (header.flags & HG_HEADER_SUMS)
        hg_header_sum_put(wire, sizeof wire, HG_HEADER_SUM_AT(sizeof wire));
    fuzz_require(
        hg_header_response_decode(wire, sizeof wire, &again) == HG_SUCCESS);
    fuzz_require(again.flags == header.flags && again.ret == header.ret &&
                 again.cookie == header.cookie);
}

static void
ack(const uint8_t *bytes, size_t size)
{
    struct hg_header_ack header = {0}, again = {0};
    uint8_t wire[HG_HEADER_ACK_SIZE];

    if (hg_header_ack_decode(bytes, size, &header) != HG_SUCCESS)
        return;
    hg_header_ack_encode(wire, &header);
    fuzz_require(hg_header_ack_decode(wire, sizeof wire, &again) == HG_SUCCESS);
    fuzz_require(again.flags == header.flags && again.ret == header.ret &&
                 again.cookie == header.cookie);
}

static void
more(const uint8_t *bytes, size_t size)
{
    struct hg_header_more reference;
    uint8_t wire[HG_HEADER_MORE_SIZE];

    if (size < sizeof wire)
        return;
    hg_header_more_decode(bytes, &reference);
    hg_header_more_encode(wire, &reference);
    fuzz_require(memcmp(wire, bytes, sizeof wire) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t sizes[] = {HG_HEADER_REQUEST_SIZE,
        HG_HEADER_RESPONSE_SIZE, HG_HEADER_ACK_SIZE, HG_HEADER_MORE_SIZE};
    struct fuzz_input input = {data, size};
    unsigned kind = fuzz_u8(&input) % 4;
    bool put = fuzz_u8(&input) & 1;
    size_t length;
    uint8_t *bytes = fuzz_bytes(&input, SIZE_MAX, &length);

    if (put && kind < 2 && length >= sizes[kind])
        hg_header_sum_put(bytes, sizes[kind], HG_HEADER_SUM_AT(sizes[kind]));
    else if (put && kind == 2 && length >= sizes[kind])
        hg_header_sum_put(bytes, sizes[kind], HG_HEADER_ACK_SUM_AT);
    if (kind == 0)
        request(bytes, length);
    else if (kind == 1)
        response(bytes, length);
    else if (kind == 2)
        ack(bytes, length);
    else
        more(bytes, length);
    free(bytes);
    return 0;
}

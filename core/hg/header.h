/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The headers of requests and responses on the wire, little-endian. They follow
 * the transport's header in a message. The first eight bytes are the same in
 * every version, so that peers detect each other's version.
 *
 *   request                           response
 *    0  u16  magic                     0  u16  magic
 *    2  u8   version                   2  u8   version
 *    3  u8   flags                     3  u8   flags
 *    4  u32  cookie                    4  u32  cookie of the request
 *    8  u64  RPC id                    8  u32  bytes of payload
 *   16  u32  bytes of payload         12  i32  result, an hg_return_t
 *   20  u8   origin's context id      16  u32  checksum of the header, or 0
 *   21  u8   reserved[3], 0           20  u32  checksum of the payload, or 0
 *   24  u32  checksum of the header, or 0
 *   28  u32  checksum of the payload, or 0
 *
 * A checksum is the lower half of the 64-bit XXH3: of the header with a
 * checksum of 0, and of the payload with seed 0. Each side sends those that its
 * own checksum_level selects, and checks those that the flags announce. A
 * header checksum must be 0 if it is not announced.
 *
 * With HG_HEADER_MORE the arguments are in registered memory of the sender. The
 * payload is then the user's space and
 *
 *    0  u64  validity cookie: the last eight bytes of that memory while it is valid
 *    8  u32  response: tag of the acknowledgement, an expected message
 *   12  u32  response: cookie of the acknowledgement
 *   16       the descriptor of the memory: the arguments and the validity cookie
 *
 * and the checksum of the payload is the XXH3 of the arguments with that of the
 * payload as its seed.
 *
 * A cancel message is the first eight bytes only, with a magic of its own and
 * the tag of the request: the origin gives up the request with this cookie.
 *
 *   acknowledgement of a response
 *    0  u16  magic
 *    2  u8   version
 *    3  u8   flags
 *    4  u32  cookie of the acknowledgement
 *    8  i32  result, an hg_return_t
 *   12  u32  checksum of the header, or 0
 */
#ifndef HG_HEADER_H
#define HG_HEADER_H

#include "mercury_types.h"

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define HG_HEADER_VERSION 1U
#define HG_HEADER_REQUEST_SIZE 32U
#define HG_HEADER_RESPONSE_SIZE 24U

#define HG_HEADER_MORE_SIZE 16U
#define HG_HEADER_ACK_SIZE 16U

#define HG_HEADER_NO_RESPONSE                                                  \
    0x1U                           /* request: only errors, or that the rest
                                      was fetched, are answered */
#define HG_HEADER_MORE 0x2U        /* the arguments must be fetched */
#define HG_HEADER_SUM 0x4U         /* the header has a checksum */
#define HG_HEADER_PAYLOAD_SUM 0x8U /* and the payload */
#define HG_HEADER_SUMS (HG_HEADER_SUM | HG_HEADER_PAYLOAD_SUM)

/* Offset of the header checksum, in requests and responses; in
 * acknowledgements. */
#define HG_HEADER_SUM_AT(header_size) ((header_size) -2 * sizeof(uint32_t))
#define HG_HEADER_ACK_SUM_AT 12U

struct hg_header_request {
    uint8_t flags;
    uint8_t context_id;
    uint32_t cookie;
    uint64_t payload_size; /* of four bytes, here and below; 64-bit to be stored
                              in hg_message.size as it is */
    hg_id_t id;
};

struct hg_header_response {
    uint8_t flags;
    uint32_t cookie;
    uint64_t payload_size;
    hg_return_t ret;
};

struct hg_header_more {
    uint64_t validity;
    uint32_t tag;
    uint32_t cookie;
};

struct hg_header_ack {
    uint8_t flags;
    uint32_t cookie;
    hg_return_t ret;
};

/* checksum.c: writes the checksum of a header. */
void hg_header_sum_put(void *header, size_t size, size_t at);
/* checksum.c: returns whether the checksum of a header is correct. */
bool hg_header_sum_agrees(const void *header, size_t size, size_t at);

/* Checks that a message of size bytes begins with a header of this magic, our
 * version, only known flags or HG_HEADER_SUMS, and a correct checksum.
 * header_size: bytes of such a header. PROTOCOL_ERROR, CHECKSUM_ERROR, or
 * OPNOTSUPPORTED: another version. *cookie_p: 0 if the message is too short for
 * it. */
hg_return_t hg_header_check(const void *bytes, size_t size, size_t header_size,
    uint16_t magic, uint8_t known, uint32_t *cookie_p);

/* The following functions are inline since each call runs them. Encoding leaves
 * the checksums 0. Decoding: size is the bytes of the message from the header
 * on. PROTOCOL_ERROR: malformed header; CHECKSUM_ERROR; OPNOTSUPPORTED: another
 * version, only the cookie is set. */

#define HG_HEADER_MAGIC_REQUEST 0x5152U  /* "RQ" */
#define HG_HEADER_MAGIC_RESPONSE 0x5352U /* "RS" */
#define HG_HEADER_MAGIC_ACK 0x4B41U      /* "AK" */
#define HG_HEADER_MAGIC_CANCEL 0x5147U   /* "GQ" */

struct hg_header_front {
    uint16_t magic;
    uint8_t version;
    uint8_t flags;
    uint32_t cookie;
};

struct hg_header_wire_ack {
    struct hg_header_front front;
    int32_t ret;
    uint32_t sum;
};

_Static_assert(sizeof(struct hg_header_wire_ack) == HG_HEADER_ACK_SIZE,
    "no padding on the wire");
_Static_assert(sizeof(struct hg_header_more) == HG_HEADER_MORE_SIZE,
    "no padding on the wire");

static inline struct hg_header_front
hg_header_front_make(uint16_t magic, uint8_t flags, uint32_t cookie)
{
    return (struct hg_header_front){.magic = htole16(magic),
        .version = HG_HEADER_VERSION,
        .flags = flags,
        .cookie = htole32(cookie)};
}

static inline hg_return_t
hg_header_front_check(const struct hg_header_front *front, uint16_t magic)
{
    if (le16toh(front->magic) != magic)
        return HG_PROTOCOL_ERROR;
    if (front->version != HG_HEADER_VERSION)
        return HG_OPNOTSUPPORTED;
    return HG_SUCCESS;
}

/* Converts a peer's code. */
static inline hg_return_t
hg_header_code(uint32_t code)
{
    return code < HG_RETURN_MAX ? (hg_return_t) code : HG_OTHER_ERROR;
}

/* Headers of requests and responses are read and written as words of eight
 * bytes. The lower half of the first word is PLAIN if no flag is set. */
#define HG_HEADER_PLAIN(magic) ((uint32_t) (magic) | HG_HEADER_VERSION << 16)

static inline uint64_t
hg_header_word(const void *bytes, unsigned number)
{
    uint64_t word;

    memcpy(&word, (const char *) bytes + number * sizeof word, sizeof word);
    return le64toh(word);
}

/* Reads four bytes, where only these are needed. */
static inline uint32_t
hg_header_half(const void *bytes, unsigned at)
{
    uint32_t half;

    memcpy(&half, (const char *) bytes + at, sizeof half);
    return le32toh(half);
}

static inline uint8_t
hg_header_byte(const void *bytes, unsigned at)
{
    return ((const uint8_t *) bytes)[at];
}

static inline void
hg_header_word_put(void *bytes, unsigned number, uint64_t word)
{
    word = htole64(word);
    memcpy((char *) bytes + number * sizeof word, &word, sizeof word);
}

static inline void
hg_header_half_put(void *bytes, unsigned at, uint32_t half)
{
    half = htole32(half);
    memcpy((char *) bytes + at, &half, sizeof half);
}

static inline uint64_t
hg_header_front_word(uint16_t magic, uint8_t flags, uint32_t cookie)
{
    return HG_HEADER_PLAIN(magic) | (uint32_t) flags << 24 |
           (uint64_t) cookie << 32;
}

static inline void
hg_header_request_encode(void *bytes, const struct hg_header_request *header)
{
    hg_header_word_put(bytes, 0,
        hg_header_front_word(
            HG_HEADER_MAGIC_REQUEST, header->flags, header->cookie));
    hg_header_word_put(bytes, 1, header->id);
    hg_header_word_put(
        bytes, 2, header->payload_size | (uint64_t) header->context_id << 32);
    hg_header_word_put(bytes, 3, 0);
}

/* Changes a header without flags into that of another request of the same context
 * for the same RPC. */
static inline void
hg_header_request_renew(void *bytes, uint32_t cookie, uint32_t payload_size)
{
    hg_header_half_put(bytes, 4, cookie);
    hg_header_half_put(bytes, 16, payload_size);
}

static inline hg_return_t
hg_header_request_decode(
    const void *bytes, size_t size, struct hg_header_request *header_p)
{
    uint32_t cookie;

    if (__builtin_expect(size < HG_HEADER_REQUEST_SIZE ||
                             hg_header_half(bytes, 0) !=
                                 HG_HEADER_PLAIN(HG_HEADER_MAGIC_REQUEST) ||
                             hg_header_half(bytes, 24) != 0,
            0)) {
        hg_return_t ret = hg_header_check(bytes, size, HG_HEADER_REQUEST_SIZE,
            HG_HEADER_MAGIC_REQUEST, HG_HEADER_NO_RESPONSE | HG_HEADER_MORE,
            &cookie);

        header_p->cookie = cookie;
        if (ret != HG_SUCCESS)
            return ret;
    }
    header_p->flags = hg_header_byte(bytes, 3);
    header_p->cookie = hg_header_half(bytes, 4);
    header_p->id = hg_header_word(bytes, 1);
    header_p->payload_size = hg_header_half(bytes, 16);
    header_p->context_id = hg_header_byte(bytes, 20);
    if (header_p->payload_size > size - HG_HEADER_REQUEST_SIZE)
        return HG_PROTOCOL_ERROR;
    return HG_SUCCESS;
}

/* Decodes a header without flags. size: bytes of payload in the message. False:
 * the header has flags, or is malformed. Compares all that can be at once. */
static inline bool
hg_header_request_decode_plain(
    const void *bytes, size_t size, struct hg_header_request *header_p)
{
    header_p->flags = 0;
    header_p->cookie = hg_header_half(bytes, 4);
    header_p->id = hg_header_word(bytes, 1);
    header_p->payload_size = hg_header_half(bytes, 16);
    header_p->context_id = hg_header_byte(bytes, 20);
    return hg_header_half(bytes, 0) ==
               HG_HEADER_PLAIN(HG_HEADER_MAGIC_REQUEST) &&
           hg_header_half(bytes, 24) == 0 && header_p->payload_size <= size;
}

static inline void
hg_header_response_encode(void *bytes, const struct hg_header_response *header)
{
    hg_header_word_put(bytes, 0,
        hg_header_front_word(
            HG_HEADER_MAGIC_RESPONSE, header->flags, header->cookie));
    hg_header_word_put(bytes, 1,
        header->payload_size | (uint64_t) (uint32_t) header->ret << 32);
    hg_header_word_put(bytes, 2, 0);
}

static inline hg_return_t
hg_header_response_decode(
    const void *bytes, size_t size, struct hg_header_response *header_p)
{
    uint32_t cookie;

    if (__builtin_expect(size < HG_HEADER_RESPONSE_SIZE ||
                             hg_header_half(bytes, 0) !=
                                 HG_HEADER_PLAIN(HG_HEADER_MAGIC_RESPONSE) ||
                             hg_header_half(bytes, 16) != 0,
            0)) {
        hg_return_t ret = hg_header_check(bytes, size, HG_HEADER_RESPONSE_SIZE,
            HG_HEADER_MAGIC_RESPONSE, HG_HEADER_MORE, &cookie);

        header_p->cookie = cookie;
        if (ret != HG_SUCCESS)
            return ret;
    }
    header_p->flags = hg_header_byte(bytes, 3);
    header_p->cookie = hg_header_half(bytes, 4);
    header_p->payload_size = hg_header_half(bytes, 8);
    header_p->ret = hg_header_code(hg_header_half(bytes, 12));
    if (header_p->payload_size > size - HG_HEADER_RESPONSE_SIZE)
        return HG_PROTOCOL_ERROR;
    return HG_SUCCESS;
}

/* Like hg_header_request_decode_plain; also false if the result is not SUCCESS.
 */
static inline bool
hg_header_response_decode_plain(
    const void *bytes, size_t size, struct hg_header_response *header_p)
{
    /* The result is the upper half, and SUCCESS is 0. */
    uint64_t size_and_ret = hg_header_word(bytes, 1);

    header_p->flags = 0;
    header_p->cookie = hg_header_half(bytes, 4);
    header_p->payload_size = size_and_ret;
    header_p->ret = HG_SUCCESS;
    return hg_header_half(bytes, 0) ==
               HG_HEADER_PLAIN(HG_HEADER_MAGIC_RESPONSE) &&
           size_and_ret <= size && hg_header_half(bytes, 16) == 0;
}

/* The functions that follow run rarely. A hg_header_more has
 * HG_HEADER_MORE_SIZE bytes on the wire. */

static inline void
hg_header_more_encode(void *bytes, const struct hg_header_more *more)
{
    const struct hg_header_more wire = {.validity = htole64(more->validity),
        .tag = htole32(more->tag),
        .cookie = htole32(more->cookie)};

    memcpy(bytes, &wire, sizeof wire);
}

static inline void
hg_header_more_decode(const void *bytes, struct hg_header_more *more_p)
{
    struct hg_header_more wire;

    memcpy(&wire, bytes, sizeof wire);
    more_p->validity = le64toh(wire.validity);
    more_p->tag = le32toh(wire.tag);
    more_p->cookie = le32toh(wire.cookie);
}

static inline void
hg_header_ack_encode(void *bytes, const struct hg_header_ack *ack)
{
    const struct hg_header_wire_ack wire = {
        .front =
            hg_header_front_make(HG_HEADER_MAGIC_ACK, ack->flags, ack->cookie),
        .ret = (int32_t) htole32((uint32_t) ack->ret)};

    memcpy(bytes, &wire, sizeof wire);
    if (ack->flags & HG_HEADER_SUM)
        hg_header_sum_put(bytes, sizeof wire, HG_HEADER_ACK_SUM_AT);
}

static inline hg_return_t
hg_header_ack_decode(
    const void *bytes, size_t size, struct hg_header_ack *ack_p)
{
    struct hg_header_wire_ack wire;
    hg_return_t ret;

    if (size < sizeof wire)
        return HG_PROTOCOL_ERROR;
    memcpy(&wire, bytes, sizeof wire);
    ret = hg_header_front_check(&wire.front, HG_HEADER_MAGIC_ACK);
    if (ret != HG_SUCCESS)
        return ret;
    if (wire.front.flags & ~HG_HEADER_SUM)
        return HG_PROTOCOL_ERROR;
    if (wire.front.flags
            ? !hg_header_sum_agrees(bytes, sizeof wire, HG_HEADER_ACK_SUM_AT)
            : wire.sum != 0)
        return HG_CHECKSUM_ERROR;
    ack_p->flags = wire.front.flags;
    ack_p->cookie = le32toh(wire.front.cookie);
    ack_p->ret = hg_header_code(le32toh((uint32_t) wire.ret));
    return HG_SUCCESS;
}

#endif /* HG_HEADER_H */

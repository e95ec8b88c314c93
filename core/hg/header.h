/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The headers of requests and answers on the wire, little-endian. They follow
 * the transport's own space at the front of a message. The first eight bytes
 * keep their place in every version, so that peers of different versions can
 * tell each other.
 *
 *   request                           answer
 *    0  u16  magic                     0  u16  magic
 *    2  u8   version                   2  u8   version
 *    3  u8   flags                     3  u8   flags
 *    4  u32  cookie                    4  u32  cookie, the request's
 *    8  u64  RPC id                    8  u32  bytes of payload
 *   16  u32  bytes of payload         12  i32  how it went, an hg_return_t
 *   20  u8   origin's context id      16  u64  reserved, 0
 *   21  u8   reserved[3], 0
 *   24  u64  reserved, 0
 */
#ifndef HG_HEADER_H
#define HG_HEADER_H

#include "mercury_types.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>

#define HG_HEADER_VERSION 1U
#define HG_HEADER_REQUEST_SIZE 32U
#define HG_HEADER_RESPONSE_SIZE 24U

#define HG_HEADER_NO_RESPONSE 0x1U /* request: the origin waits for nothing */

struct hg_header_request {
    uint8_t flags;
    uint8_t context_id;
    uint32_t cookie;
    uint32_t payload_size;
    hg_id_t id;
};

struct hg_header_response {
    uint32_t cookie;
    uint32_t payload_size;
    hg_return_t ret;
};

/* On the path of each call, and therefore inline. decode: size is the bytes of
 * the message from the header on. PROTOCOL_ERROR: these are not such a header;
 * OPNOTSUPPORTED: it is of another version, only cookie is then set. */

#define HG_HEADER_MAGIC_REQUEST 0x5152U  /* "RQ" */
#define HG_HEADER_MAGIC_RESPONSE 0x5352U /* "RS" */

struct hg_header_front {
    uint16_t magic;
    uint8_t version;
    uint8_t flags;
    uint32_t cookie;
};

struct hg_header_wire_request {
    struct hg_header_front front;
    uint64_t id;
    uint32_t payload_size;
    uint8_t context_id;
    uint8_t zero[3];
    uint64_t reserved;
};

struct hg_header_wire_response {
    struct hg_header_front front;
    uint32_t payload_size;
    int32_t ret;
    uint64_t reserved;
};

_Static_assert(sizeof(struct hg_header_wire_request) == HG_HEADER_REQUEST_SIZE,
    "no padding on the wire");
_Static_assert(
    sizeof(struct hg_header_wire_response) == HG_HEADER_RESPONSE_SIZE,
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
hg_header_front_check(
    const struct hg_header_front *front, uint16_t magic, uint8_t known_flags)
{
    if (le16toh(front->magic) != magic)
        return HG_PROTOCOL_ERROR;
    if (front->version != HG_HEADER_VERSION)
        return HG_OPNOTSUPPORTED;
    return front->flags & ~known_flags ? HG_PROTOCOL_ERROR : HG_SUCCESS;
}

static inline void
hg_header_request_encode(void *bytes, const struct hg_header_request *header)
{
    struct hg_header_wire_request wire = {
        .front = hg_header_front_make(
            HG_HEADER_MAGIC_REQUEST, header->flags, header->cookie),
        .id = htole64(header->id),
        .payload_size = htole32(header->payload_size),
        .context_id = header->context_id};

    memcpy(bytes, &wire, sizeof wire);
}

static inline hg_return_t
hg_header_request_decode(
    const void *bytes, size_t size, struct hg_header_request *header_p)
{
    struct hg_header_wire_request wire;
    struct hg_header_front front;
    hg_return_t ret;

    if (size < sizeof front)
        return HG_PROTOCOL_ERROR;
    memcpy(&front, bytes, sizeof front);
    ret = hg_header_front_check(
        &front, HG_HEADER_MAGIC_REQUEST, HG_HEADER_NO_RESPONSE);
    header_p->cookie = le32toh(front.cookie);
    if (ret != HG_SUCCESS)
        return ret;
    if (size < sizeof wire)
        return HG_PROTOCOL_ERROR;
    memcpy(&wire, bytes, sizeof wire);
    header_p->flags = front.flags;
    header_p->context_id = wire.context_id;
    header_p->payload_size = le32toh(wire.payload_size);
    header_p->id = le64toh(wire.id);
    if (header_p->payload_size > size - sizeof wire)
        return HG_PROTOCOL_ERROR;
    return HG_SUCCESS;
}

static inline void
hg_header_response_encode(void *bytes, const struct hg_header_response *header)
{
    struct hg_header_wire_response wire = {
        .front =
            hg_header_front_make(HG_HEADER_MAGIC_RESPONSE, 0, header->cookie),
        .payload_size = htole32(header->payload_size),
        .ret = (int32_t) htole32((uint32_t) header->ret)};

    memcpy(bytes, &wire, sizeof wire);
}

static inline hg_return_t
hg_header_response_decode(
    const void *bytes, size_t size, struct hg_header_response *header_p)
{
    struct hg_header_wire_response wire;
    struct hg_header_front front;
    uint32_t code;
    hg_return_t ret;

    if (size < sizeof front)
        return HG_PROTOCOL_ERROR;
    memcpy(&front, bytes, sizeof front);
    ret = hg_header_front_check(&front, HG_HEADER_MAGIC_RESPONSE, 0);
    header_p->cookie = le32toh(front.cookie);
    if (ret != HG_SUCCESS)
        return ret;
    if (size < sizeof wire)
        return HG_PROTOCOL_ERROR;
    memcpy(&wire, bytes, sizeof wire);
    header_p->payload_size = le32toh(wire.payload_size);
    code = le32toh((uint32_t) wire.ret);
    header_p->ret = code < HG_RETURN_MAX ? (hg_return_t) code : HG_OTHER_ERROR;
    if (header_p->payload_size > size - sizeof wire)
        return HG_PROTOCOL_ERROR;
    return HG_SUCCESS;
}

#endif /* HG_HEADER_H */

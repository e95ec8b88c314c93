/* SPDX-License-Identifier: BSD-3-Clause */
/* Encoding and checking the headers of requests and answers. */
#include "hg/header.h"

#include <endian.h>
#include <string.h>

#define MAGIC_REQUEST 0x5152U  /* "RQ" */
#define MAGIC_RESPONSE 0x5352U /* "RS" */

struct front {
    uint16_t magic;
    uint8_t version;
    uint8_t flags;
    uint32_t cookie;
};

struct wire_request {
    struct front front;
    uint64_t id;
    uint32_t payload_size;
    uint8_t context_id;
    uint8_t zero[3];
    uint64_t reserved;
};

struct wire_response {
    struct front front;
    uint32_t payload_size;
    int32_t ret;
    uint64_t reserved;
};

_Static_assert(sizeof(struct wire_request) == HG_HEADER_REQUEST_SIZE,
    "no padding on the wire");
_Static_assert(sizeof(struct wire_response) == HG_HEADER_RESPONSE_SIZE,
    "no padding on the wire");

static struct front
front_make(uint16_t magic, uint8_t flags, uint32_t cookie)
{
    return (struct front){.magic = htole16(magic),
        .version = HG_HEADER_VERSION,
        .flags = flags,
        .cookie = htole32(cookie)};
}

static hg_return_t
front_check(const struct front *front, uint16_t magic, uint8_t known_flags)
{
    if (le16toh(front->magic) != magic)
        return HG_PROTOCOL_ERROR;
    if (front->version != HG_HEADER_VERSION)
        return HG_OPNOTSUPPORTED;
    return front->flags & ~known_flags ? HG_PROTOCOL_ERROR : HG_SUCCESS;
}

void
hg_header_request_encode(void *bytes, const struct hg_header_request *header)
{
    struct wire_request wire = {
        .front = front_make(MAGIC_REQUEST, header->flags, header->cookie),
        .id = htole64(header->id),
        .payload_size = htole32(header->payload_size),
        .context_id = header->context_id};

    memcpy(bytes, &wire, sizeof wire);
}

hg_return_t
hg_header_request_decode(
    const void *bytes, size_t size, struct hg_header_request *header_p)
{
    struct wire_request wire;
    struct front front;
    hg_return_t ret;

    if (size < sizeof front)
        return HG_PROTOCOL_ERROR;
    memcpy(&front, bytes, sizeof front);
    ret = front_check(&front, MAGIC_REQUEST, HG_HEADER_NO_RESPONSE);
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

void
hg_header_response_encode(void *bytes, const struct hg_header_response *header)
{
    struct wire_response wire = {
        .front = front_make(MAGIC_RESPONSE, 0, header->cookie),
        .payload_size = htole32(header->payload_size),
        .ret = (int32_t) htole32((uint32_t) header->ret)};

    memcpy(bytes, &wire, sizeof wire);
}

hg_return_t
hg_header_response_decode(
    const void *bytes, size_t size, struct hg_header_response *header_p)
{
    struct wire_response wire;
    struct front front;
    uint32_t code;
    hg_return_t ret;

    if (size < sizeof front)
        return HG_PROTOCOL_ERROR;
    memcpy(&front, bytes, sizeof front);
    ret = front_check(&front, MAGIC_RESPONSE, 0);
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

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

#include <stddef.h>

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

void hg_header_request_encode(
    void *bytes, const struct hg_header_request *header);

/* size: bytes of the message from the header on. PROTOCOL_ERROR: these are not
 * a request; OPNOTSUPPORTED: of another version, only cookie is then set. */
hg_return_t hg_header_request_decode(
    const void *bytes, size_t size, struct hg_header_request *header_p);

void hg_header_response_encode(
    void *bytes, const struct hg_header_response *header);

/* As hg_header_request_decode. */
hg_return_t hg_header_response_decode(
    const void *bytes, size_t size, struct hg_header_response *header_p);

#endif /* HG_HEADER_H */

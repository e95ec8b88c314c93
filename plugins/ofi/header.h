/* SPDX-License-Identifier: BSD-3-Clause */
/* The header of each message on the wire; little-endian. */
#ifndef OFI_HEADER_H
#define OFI_HEADER_H

#include <endian.h>
#include <string.h>

#include "ofi.h"

/*
 * offset 0  version, 1
 *        1  kind
 *        2  number of the sender's context
 *        3  number of the receiver's context
 *        4  tag, 4 bytes
 *        8  number of the sender's class, 8 bytes
 *       16  number of the receiver's class, 8 bytes; 0: not known
 *       24  bytes of the name of the sender's class
 *       25  the name
 *        …  bytes of the name of the sender's endpoint; 0: its first one, whose
 *           name is the class's
 *        …  the name; zeros up to a multiple of 8
 */
#define OFI_HEADER_VERSION 1U
#define OFI_HEADER_NAME 25U
#define OFI_HEADER_IPV4 32U /* bytes with the name of an IPv4 address only */

enum ofi_header_kind {
    OFI_HEADER_UNEXPECTED = 1,
    OFI_HEADER_EXPECTED,
    OFI_HEADER_PING, /* asks for a pong with its tag */
    OFI_HEADER_PONG,
    OFI_HEADER_FLUSH,    /* means nothing: what was sent before it is out */
    OFI_HEADER_ENDPOINT, /* context number tag has an endpoint of this name */
};

struct ofi_header {
    uint8_t kind;
    uint8_t source_ctx;
    uint8_t target_ctx;
    uint32_t tag;
    uint64_t source;
    uint64_t target;
};

static inline uint32_t
ofi_header_length(uint32_t name_length, uint32_t end_length)
{
    return (OFI_HEADER_NAME + name_length + 1 + end_length + 7) & ~7U;
}

/* Writes the class's header with these values. */
static inline void
ofi_header_write(const struct ofi_endpoint *ep, unsigned char *bytes,
    const struct ofi_header *header)
{
    uint32_t tag = htole32(header->tag);
    uint64_t target = htole64(header->target);

    if (__builtin_expect(ep->header_length == OFI_HEADER_IPV4, 1))
        memcpy(bytes, ep->header, OFI_HEADER_IPV4);
    else
        memcpy(bytes, ep->header, ep->header_length);
    bytes[1] = header->kind;
    bytes[2] = header->source_ctx;
    bytes[3] = header->target_ctx;
    memcpy(bytes + 4, &tag, sizeof(tag));
    memcpy(bytes + 16, &target, sizeof(target));
}

/* Reads one. False: it is malformed. *length_p: of header and names. */
static inline bool
ofi_header_read(const unsigned char *bytes, uint64_t length,
    struct ofi_header *header, uint32_t *length_p)
{
    if (length < OFI_HEADER_NAME || bytes[0] != OFI_HEADER_VERSION ||
        bytes[24] > OFI_NAME_MAX ||
        length < OFI_HEADER_NAME + (uint64_t) bytes[24] + 1)
        return false;
    *length_p = ofi_header_length(
        bytes[24], bytes[OFI_HEADER_NAME + (uint32_t) bytes[24]]);
    if (length < *length_p)
        return false;
    header->kind = bytes[1];
    header->source_ctx = bytes[2];
    header->target_ctx = bytes[3];
    memcpy(&header->tag, bytes + 4, sizeof(header->tag));
    memcpy(&header->source, bytes + 8, sizeof(header->source));
    memcpy(&header->target, bytes + 16, sizeof(header->target));
    header->tag = le32toh(header->tag);
    header->source = le64toh(header->source);
    header->target = le64toh(header->target);
    return header->source != 0;
}

/* A message as it arrived. */
struct ofi_message {
    struct ofi_header header;
    struct ofi_peer *from;
    const unsigned char *data;
    uint32_t length;
    uint32_t before;   /* bytes of the header before data */
    struct ofi_rx *rx; /* its buffer; NULL: sent to oneself, or forwarded */
};

#endif /* OFI_HEADER_H */

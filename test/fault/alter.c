/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds Talaria's messages in a TCP stream, and alters them. A message that is
 * split across two reads of the proxy is recognized by its beginning only, or
 * passes unaltered.
 */
#include "alter.h"

#include "service.h"

#include <string.h>

/* core/hg/header.h */
#define REQUEST_SIZE 32U
#define REQUEST_PAYLOAD 16U /* offset of its size field */
#define ACK_SIZE 16U
#define ABANDON_SIZE 8U

/* plugins/ofi/header.h, for a class at an IPv4 address of 6 bytes; the first
 * byte is never altered, so that the server connects to no other host */
#define OFI_SIZE 32U
#define OFI_NUMBER 8U
#define OFI_NAME_LENGTH 24U
#define OFI_NAME 25U

/* plugins/ucx/wire.h; UCX 1.13 sends the data first, then this header */
#define UCX_SIZE 16U
#define UCX_KIND 12U
#define UCX_PIECE_SIZE 56U
#define UCX_PIECE_LENGTH 48U
#define UCX_HELLO 3U /* kind of message; its data: */
#define UCX_HELLO_SIZE 176U
#define UCX_HELLO_TOKEN 16U
#define UCX_HELLO_BEGIN "TUCX\1" /* magic and version */

struct region {
    size_t at, size;
};

/* A message: header of the plugin, header of the core, payload. */
struct message {
    uint8_t kind; /* plugin header */
    size_t end;
    struct region regions[3];
};

static size_t
least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Splits the core's part, between at and end, into header and payload. Returns
 * whether it is a message of size bytes, or, with size 0, of any size. */
static bool
find_core(struct message *message, const unsigned char *bytes, size_t at,
    size_t end, size_t size)
{
    size_t left = end - at, header = 0;
    uint32_t payload = 0;

    if (left >= REQUEST_SIZE && memcmp(bytes + at, "RQ", 2) == 0) {
        header = REQUEST_SIZE;
        memcpy(&payload, bytes + at + REQUEST_PAYLOAD, sizeof payload);
    } else if (left >= ACK_SIZE && memcmp(bytes + at, "AK", 2) == 0) {
        header = ACK_SIZE;
    } else if (left >= ABANDON_SIZE && memcmp(bytes + at, "GQ", 2) == 0) {
        header = ABANDON_SIZE;
    }
    if (header == 0 || (size != 0 && header + (size_t) payload != size))
        return false;
    message->regions[1] = (struct region){at, header};
    message->regions[2] =
        (struct region){at + header, least(payload, left - header)};
    message->end = message->regions[2].at + message->regions[2].size;
    return true;
}

static bool
is_ofi(const unsigned char *bytes)
{
    return bytes[0] == 1 && bytes[OFI_NAME_LENGTH] == 6 &&
           bytes[OFI_NAME] == 127 && bytes[OFI_SIZE - 1] == 0;
}

/* Whether a message begins here. The first one of a stream is a request. */
static bool
find_ofi(struct alter_stream *stream, const unsigned char *bytes, size_t at,
    size_t size, struct message *message_p)
{
    const unsigned char *front = bytes + at;

    if (size - at < OFI_SIZE || !is_ofi(front))
        return false;
    if (!stream->known) {
        if (size - at < OFI_SIZE + REQUEST_SIZE ||
            memcmp(front + OFI_SIZE, "RQ\1", 3) != 0)
            return false;
        memcpy(stream->mark, front + OFI_NUMBER, sizeof stream->mark);
        stream->known = true;
    }
    if (memcmp(front + OFI_NUMBER, stream->mark, sizeof stream->mark) != 0)
        return false;
    message_p->kind = front[1];
    message_p->regions[0] = (struct region){at, OFI_SIZE};
    message_p->end = at + OFI_SIZE;
    find_core(message_p, bytes, at + OFI_SIZE, size, 0);
    return true;
}

/* Data of the message whose header is here: from the end of the previous
 * message on. */
static void
find_ucx_data(
    struct message *message, const unsigned char *bytes, size_t from, size_t at)
{
    uint32_t length;

    if (message->regions[0].size == UCX_PIECE_SIZE) {
        memcpy(&length, bytes + at + UCX_PIECE_LENGTH, sizeof length);
        if (length <= at - from)
            message->regions[2] = (struct region){at - length, length};
        return;
    }
    for (size_t begin = from; begin < at; begin++)
        if (find_core(message, bytes, begin, at, at - begin))
            break;
}

/* Whether a message header is here, or the hello with the token of this
 * connection. */
static bool
find_ucx(struct alter_stream *stream, const unsigned char *bytes, size_t from,
    size_t at, size_t size, struct message *message_p)
{
    const unsigned char *front = bytes + at;
    size_t length = UCX_SIZE;

    if (size - at >= UCX_HELLO_SIZE &&
        memcmp(front, UCX_HELLO_BEGIN, sizeof UCX_HELLO_BEGIN) == 0) {
        message_p->kind = UCX_HELLO;
        message_p->regions[0] = (struct region){at, UCX_HELLO_SIZE};
        message_p->end = at + UCX_HELLO_SIZE;
        return true;
    }
    if (!stream->known || size - at < UCX_SIZE ||
        memcmp(front, stream->mark, sizeof stream->mark) != 0)
        return false;
    message_p->kind = front[UCX_KIND];
    if (message_p->kind > 5)
        length = least(UCX_PIECE_SIZE, size - at);
    message_p->regions[0] = (struct region){at, length};
    find_ucx_data(message_p, bytes, from, at);
    message_p->end = at + length;
    return true;
}

/* Alters one byte of a region. */
static void
change(struct alter *alter, unsigned char *bytes, const struct region *region)
{
    uint64_t bits = service_random(&alter->seed);
    unsigned char *byte = &bytes[region->at + (bits >> 16) % region->size];

    switch (bits % 4) {
    case 0:
        *byte = 0;
        break;
    case 1:
        *byte = 0xff;
        break;
    case 2:
        *byte = (unsigned char) (bits >> 8);
        break;
    default:
        *byte ^= (unsigned char) (1U << (bits >> 8 & 7));
        break;
    }
}

/* Makes a request announce more bytes than it has, in header and arguments
 * alike, so that one check alone cannot detect it. */
static void
lengthen(
    struct alter *alter, unsigned char *bytes, const struct message *message)
{
    uint64_t bits = service_random(&alter->seed);
    uint32_t size = 1U << (bits % 16 + 13);
    size_t word = (bits >> 8) % 4 * sizeof size;

    memcpy(
        bytes + message->regions[1].at + REQUEST_PAYLOAD, &size, sizeof size);
    size >>= 1;
    if (word + sizeof size <= message->regions[2].size)
        memcpy(bytes + message->regions[2].at + word, &size, sizeof size);
}

/* Most messages are altered, in one place or several; hellos rarely, since
 * every other message needs one. */
static void
change_message(
    struct alter *alter, unsigned char *bytes, const struct message *message)
{
    uint64_t bits = service_random(&alter->seed);
    const struct region *region = &message->regions[(bits >> 8) % 3];

    atomic_fetch_add(&alter->seen, 1);
    if (!atomic_load(&alter->on) || bits % 4 == 0 ||
        (message->regions[0].size == UCX_HELLO_SIZE && (bits >> 32) % 8 != 0))
        return;
    if (region->size == 0)
        region = &message->regions[0];
    if (message->regions[1].size == REQUEST_SIZE && (bits >> 24) % 8 == 0)
        lengthen(alter, bytes, message);
    else
        for (uint64_t i = (bits >> 16) % 4 + 1; i > 0; i--)
            change(alter, bytes, region);
    atomic_fetch_add(&alter->altered, 1);
    atomic_fetch_add(&alter->kinds[message->kind], 1);
}

static void
sent_ofi(struct alter *alter, struct alter_stream *stream, unsigned char *bytes,
    size_t size)
{
    for (size_t at = 0; at < size; at++) {
        struct message message = {.kind = 0};

        if (!find_ofi(stream, bytes, at, size, &message))
            continue;
        change_message(alter, bytes, &message);
        bytes[at + OFI_NAME] = 127;
        at = message.end - 1;
    }
}

static void
sent_ucx(struct alter *alter, struct alter_stream *stream, unsigned char *bytes,
    size_t size)
{
    size_t from = 0;

    for (size_t at = 0; at < size; at++) {
        struct message message = {.kind = 0};

        if (!find_ucx(stream, bytes, from, at, size, &message))
            continue;
        change_message(alter, bytes, &message);
        from = message.end;
        at = from - 1;
    }
}

void
alter_sent(struct alter *alter, struct alter_stream *stream,
    unsigned char *bytes, size_t size)
{
    if (alter->ucx)
        sent_ucx(alter, stream, bytes, size);
    else
        sent_ofi(alter, stream, bytes, size);
}

void
alter_heard(const struct alter *alter, struct alter_stream *stream,
    const unsigned char *bytes, size_t size)
{
    for (size_t at = 0; alter->ucx && !stream->known && at < size; at++)
        if (size - at >= UCX_HELLO_SIZE &&
            memcmp(bytes + at, UCX_HELLO_BEGIN, sizeof UCX_HELLO_BEGIN) == 0) {
            memcpy(stream->mark, bytes + at + UCX_HELLO_TOKEN,
                sizeof stream->mark);
            stream->known = true;
        }
}

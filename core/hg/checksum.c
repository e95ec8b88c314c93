/* SPDX-License-Identifier: BSD-3-Clause */
/* Checksums of headers and payloads: the lower half of their XXH3. */
#include "hg/checksum.h"

#include "base/log.h"
#include "hg/header.h"
#include "hg/message.h"

#include <string.h>

static void
put(void *bytes, uint32_t sum)
{
    uint32_t wire = htole32(sum);

    memcpy(bytes, &wire, sizeof wire);
}

static uint32_t
get(const void *bytes)
{
    uint32_t wire;

    memcpy(&wire, bytes, sizeof wire);
    return le32toh(wire);
}

/* Computes the checksum of a header as if its own checksum field were 0. */
static uint32_t
sum_header(const void *header, size_t size, size_t at)
{
    unsigned char bytes[HG_HEADER_REQUEST_SIZE];

    memcpy(bytes, header, size);
    put(bytes + at, 0);
    return (uint32_t) proc_hash(bytes, size, 0);
}

void
hg_header_sum_put(void *header, size_t size, size_t at)
{
    put((char *) header + at, sum_header(header, size, at));
}

bool
hg_header_sum_agrees(const void *header, size_t size, size_t at)
{
    return get((const char *) header + at) == sum_header(header, size, at);
}

hg_return_t
hg_header_check(const void *bytes, size_t size, size_t header_size,
    uint16_t magic, uint8_t known, uint32_t *cookie_p)
{
    struct hg_header_front front;
    hg_return_t ret;

    *cookie_p = 0;
    if (size < sizeof front)
        return HG_PROTOCOL_ERROR;
    memcpy(&front, bytes, sizeof front);
    *cookie_p = le32toh(front.cookie);
    ret = hg_header_front_check(&front, magic);
    if (ret != HG_SUCCESS)
        return ret;
    if (size < header_size || front.flags & ~(known | HG_HEADER_SUMS))
        return HG_PROTOCOL_ERROR;
    if (front.flags & HG_HEADER_SUMS
            ? !hg_header_sum_agrees(
                  bytes, header_size, HG_HEADER_SUM_AT(header_size))
            : get((const char *) bytes + HG_HEADER_SUM_AT(header_size)) != 0)
        return HG_CHECKSUM_ERROR;
    return HG_SUCCESS;
}

uint8_t
hg_checksum_flags(hg_checksum_level_t level)
{
    return level == HG_CHECKSUM_NONE ? 0
           : level == HG_CHECKSUM_RPC_HEADERS
               ? HG_HEADER_SUM
               : HG_HEADER_SUM | HG_HEADER_PAYLOAD_SUM;
}

/* Continues the checksum of the bytes in the message with the extra payload. */
static uint32_t
sum_arguments(uint64_t begun, const struct hg_extra *extra)
{
    if (extra && extra->size > 0)
        begun = proc_hash(extra->data, extra->size, begun);
    return (uint32_t) begun;
}

void
hg_checksum_put(
    void *header, size_t header_size, const struct hg_message *message)
{
    if (((const uint8_t *) header)[offsetof(struct hg_header_front, flags)] &
        HG_HEADER_PAYLOAD_SUM)
        put((char *) header + header_size - sizeof(uint32_t),
            sum_arguments(
                proc_hash(message->payload, message->size, 0), message->extra));
    hg_header_sum_put(header, header_size, HG_HEADER_SUM_AT(header_size));
}

void
hg_checksum_note(
    struct hg_message *message, const void *header, size_t header_size)
{
    message->sum = get((const char *) header + header_size - sizeof(uint32_t));
    message->sum_begun = proc_hash(message->payload, message->size, 0);
}

bool
hg_checksum_agrees(const struct hg_message *message)
{
    uint32_t sum = sum_arguments(message->sum_begun, message->extra);

    if (sum == message->sum)
        return true;
    LOG_ERROR(HG, "wrong checksum of arguments: %#x instead of %#x", sum,
        message->sum);
    return false;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wire form of a descriptor, little-endian:
 *
 *    0  u8   version (2)
 *    1  u8   flags: 1 readable, 2 writable, 16 eager data, 128 bound
 *    2  u8   context id of the owner, when bound, else 0
 *    3  u8   sections
 *    4  u32  segments
 *    8  u64  bytes of all segments
 *   16  u64  number of the owner's class, random
 *   24  u64  number of the descriptor in that class, random, or 0
 *   32       the eager data; only of read-only memory
 *            sections, one for each transport that the owner has
 *
 *    0  u8   kind: 0 the owner's transport, 1 for peers of its node
 *    1  u8   bytes of the name
 *    2  u16  0
 *    4  u32  parts; none with eager data
 *    8  u32  bytes that follow the name
 *   12       name of the plugin
 *            for each part: u64 bytes of memory, u32 length of the transport's
 *            serialized registration, that registration
 *            when bound: for kind 1 the owner's node (u64 high, u64 low); then
 *            the transport's serialized address of the owner, or nothing
 *
 * A receiver without a section's plugin skips the section. Eager data need a
 * section for the address only.
 */
#include "bulk/bulk.h"

#include "base/log.h"
#include "na.h"
#include "na/call.h"

#include <endian.h>
#include <string.h>

#define WIRE_VERSION 2U
#define WIRE_DATA 0x10U
#define WIRE_BOUND 0x80U
#define WIRE_HEADER_SIZE 32U
#define WIRE_SECTION_SIZE 12U
#define WIRE_NAME_MAX 255U
#define WIRE_PART_SIZE 12U

/* Maximum bytes of eager data, whatever fits into a message. */
#define EAGER_MAX (64U << 10)

/* Writes while there is room, and counts all bytes. */
struct writer {
    unsigned char *at;
    size_t left;
    size_t size; /* of all that was to be written */
};

/* Advances past bytes that were written at the position, or did not fit. */
static void
pass(struct writer *writer, size_t size)
{
    writer->size += size;
    if (size > writer->left) {
        writer->left = 0;
        return;
    }
    writer->at += size;
    writer->left -= size;
}

static void
put(struct writer *writer, const void *bytes, size_t size)
{
    if (size > 0 && size <= writer->left)
        memcpy(writer->at, bytes, size);
    pass(writer, size);
}

static void
put_u32(struct writer *writer, uint32_t value)
{
    value = htole32(value);
    put(writer, &value, sizeof value);
}

static void
put_u64(struct writer *writer, uint64_t value)
{
    value = htole64(value);
    put(writer, &value, sizeof value);
}

static uint8_t
name_length(const struct na_class *na_class)
{
    return (uint8_t) strnlen(na_class->plugin->name, WIRE_NAME_MAX);
}

/* Writes one registration. If there is no room for it, only counts its bytes, as
 * put does; then the serialization reports OVERFLOW with its size. */
static na_return_t
put_part(struct writer *writer, struct na_class *na_class,
    const struct bulk_part *part)
{
    bool room = writer->left > WIRE_PART_SIZE;
    uint64_t length = room ? writer->left - WIRE_PART_SIZE : 0;
    na_return_t ret = na_mem_serialize(na_class, part->mem,
        room ? writer->at + WIRE_PART_SIZE : NULL, &length);

    if (ret != NA_SUCCESS && ret != NA_OVERFLOW)
        return ret;
    put_u64(writer, part->size);
    put_u32(writer, (uint32_t) length);
    pass(writer, length);
    return NA_SUCCESS;
}

static na_return_t
put_addr(struct writer *writer, const struct hg_addr *addr)
{
    uint64_t length = writer->left;
    na_return_t ret;

    if (!addr->addr)
        return NA_SUCCESS;
    ret = na_addr_serialize(
        addr->na_class, addr->addr, length > 0 ? writer->at : NULL, &length);
    if (ret != NA_SUCCESS && ret != NA_OVERFLOW)
        return ret;
    pass(writer, length);
    return NA_SUCCESS;
}

static na_return_t
put_section(
    struct writer *writer, const struct hg_bulk *bulk, unsigned kind, bool data)
{
    struct na_class *na_class = bulk_side_class(bulk->bulk_class, kind);
    const struct bulk_side *side = &bulk->sides[kind];
    const uint8_t front[4] = {(uint8_t) kind, name_length(na_class), 0, 0};
    uint32_t count = data ? 0 : side->part_count, length;
    unsigned char *length_at;
    na_return_t ret = NA_SUCCESS;
    size_t before;

    put(writer, front, sizeof front);
    put_u32(writer, count);
    length_at = writer->at;
    put_u32(writer, 0);
    put(writer, na_class->plugin->name, front[1]);
    before = writer->size;
    for (uint32_t i = 0; ret == NA_SUCCESS && i < count; i++)
        ret = put_part(writer, na_class, &side->parts[i]);
    if (ret == NA_SUCCESS && bulk->bound && kind == RT_LOCAL) {
        put_u64(writer, bulk->bulk_class->host.high);
        put_u64(writer, bulk->bulk_class->host.low);
    }
    if (ret == NA_SUCCESS && bulk->bound)
        ret = put_addr(writer, &side->addr);
    if (ret != NA_SUCCESS)
        return ret;
    if (writer->size - before > UINT32_MAX)
        return NA_MSGSIZE;
    length = htole32((uint32_t) (writer->size - before));
    if (writer->at > length_at) /* it had room */
        memcpy(length_at, &length, sizeof length);
    return NA_SUCCESS;
}

bool
bulk_may_be_eager(const struct hg_bulk *bulk)
{
    return !bulk->remote && !bulk->device && bulk->flags == HG_BULK_READ_ONLY &&
           bulk->size <= EAGER_MAX && !bulk->bulk_class->no_eager;
}

static void
put_header(
    struct writer *writer, struct hg_bulk *bulk, bool data, uint8_t sections)
{
    const uint8_t front[4] = {WIRE_VERSION,
        (uint8_t) (bulk->flags | (data ? WIRE_DATA : 0) |
                   (bulk->bound ? WIRE_BOUND : 0)),
        bulk->bound ? bulk->context_id : 0, sections};
    /* First, since it may set the number of the class. */
    uint64_t number = data ? 0 : bulk_owned_number(bulk);

    put(writer, front, sizeof front);
    put_u32(writer, bulk->segment_count);
    put_u64(writer, bulk->size);
    put_u64(writer, number != 0 ? bulk_owner(bulk->bulk_class) : 0);
    put_u64(writer, number);
    for (uint32_t i = 0; data && i < bulk->segment_count; i++)
        put(writer, bulk->segments[i].base, bulk->segments[i].length);
}

static na_return_t
put_descriptor(struct writer *writer, struct hg_bulk *bulk, unsigned long flags)
{
    bool data = (flags & HG_BULK_EAGER) && bulk_may_be_eager(bulk);
    bool sides[RT_TRANSPORTS] = {true, bulk->sides[RT_LOCAL].usable};
    na_return_t ret = NA_SUCCESS;

    if ((flags & HG_BULK_SM) && sides[RT_LOCAL])
        sides[RT_MAIN] = false;
    if (data && !bulk->bound)
        sides[RT_MAIN] = sides[RT_LOCAL] = false;
    put_header(
        writer, bulk, data, (uint8_t) (sides[RT_MAIN] + sides[RT_LOCAL]));
    for (unsigned kind = 0; ret == NA_SUCCESS && kind < RT_TRANSPORTS; kind++)
        if (sides[kind])
            ret = put_section(writer, bulk, kind, data);
    return ret;
}

hg_return_t
bulk_encode(struct hg_bulk *bulk, unsigned long flags, void *buf, size_t room,
    size_t *size_p)
{
    struct writer writer = {.at = buf, .left = room};
    na_return_t ret = NA_SUCCESS;

    if (bulk->remote)
        put(&writer, bulk->wire, bulk->wire_size);
    else
        ret = put_descriptor(&writer, bulk, flags);
    if (ret != NA_SUCCESS)
        return (hg_return_t) ret;
    *size_p = writer.size;
    return writer.size <= room ? HG_SUCCESS : HG_OVERFLOW;
}

hg_size_t
HG_Bulk_get_serialize_size(hg_bulk_t handle, unsigned long flags)
{
    size_t size = 0;

    if (handle)
        (void) bulk_encode(handle, flags, NULL, 0, &size);
    return size;
}

hg_return_t
HG_Bulk_serialize(
    void *buf, hg_size_t buf_size, unsigned long flags, hg_bulk_t handle)
{
    size_t size;

    if (!buf || !handle)
        return HG_INVALID_ARG;
    return bulk_encode(handle, flags, buf, buf_size, &size);
}

struct reader {
    const unsigned char *at;
    size_t left;
};

/* Returns the next bytes, or NULL if there are fewer. */
static const unsigned char *
get(struct reader *reader, size_t size)
{
    const unsigned char *bytes = reader->at;

    if (size > reader->left)
        return NULL;
    reader->at += size;
    reader->left -= size;
    return bytes;
}

static uint32_t
u32_at(const unsigned char *bytes)
{
    uint32_t value;

    memcpy(&value, bytes, sizeof value);
    return le32toh(value);
}

static uint64_t
u64_at(const unsigned char *bytes)
{
    uint64_t value;

    memcpy(&value, bytes, sizeof value);
    return le64toh(value);
}

struct section {
    unsigned kind;
    uint32_t part_count;
    const unsigned char *name; /* NULL: there is none */
    size_t name_length;
    struct reader body;
};

/* A parsed descriptor, before the transports parse their parts. */
struct parsed {
    uint8_t flags;
    uint8_t context_id;
    uint32_t segment_count;
    hg_size_t size;
    uint64_t owner;
    uint64_t number;
    const unsigned char *data;
    struct section sections[RT_TRANSPORTS]; /* for each of our transports */
    size_t wire_size;
};

static hg_return_t
parse_header(struct reader *reader, struct parsed *parsed, uint8_t *sections_p)
{
    const unsigned char *header = get(reader, WIRE_HEADER_SIZE);

    if (!header)
        return HG_PROTOCOL_ERROR;
    if (header[0] != WIRE_VERSION) {
        LOG_THINNED(BULK, ERROR, "descriptor of version %u, known is %u",
            header[0], WIRE_VERSION);
        return HG_PROTOCOL_ERROR;
    }
    parsed->flags = header[1];
    parsed->context_id = header[2];
    *sections_p = header[3];
    parsed->segment_count = u32_at(header + 4);
    parsed->size = u64_at(header + 8);
    parsed->owner = u64_at(header + 16);
    parsed->number = u64_at(header + 24);
    if ((parsed->flags & HG_BULK_READWRITE) == 0 ||
        (parsed->flags & ~(HG_BULK_READWRITE | WIRE_DATA | WIRE_BOUND)) != 0 ||
        (!(parsed->flags & WIRE_BOUND) && parsed->context_id != 0) ||
        parsed->segment_count == 0 || parsed->size > PTRDIFF_MAX)
        return HG_PROTOCOL_ERROR;
    if (!(parsed->flags & WIRE_DATA))
        return HG_SUCCESS;
    parsed->data = get(reader, parsed->size);
    return parsed->data && !(parsed->flags & HG_BULK_WRITE_ONLY)
               ? HG_SUCCESS
               : HG_PROTOCOL_ERROR;
}

static hg_return_t
parse_section(struct reader *reader, const struct parsed *parsed,
    struct section *section_p)
{
    const unsigned char *front = get(reader, WIRE_SECTION_SIZE);

    if (!front || front[2] != 0 || front[3] != 0)
        return HG_PROTOCOL_ERROR;
    section_p->kind = front[0];
    section_p->name_length = front[1];
    section_p->part_count = u32_at(front + 4);
    section_p->name = get(reader, section_p->name_length);
    section_p->body.left = u32_at(front + 8);
    section_p->body.at = get(reader, section_p->body.left);
    if (!section_p->name || !section_p->body.at ||
        section_p->part_count > section_p->body.left / WIRE_PART_SIZE ||
        section_p->part_count > parsed->segment_count ||
        (parsed->data && section_p->part_count > 0))
        return HG_PROTOCOL_ERROR;
    return HG_SUCCESS;
}

/* Selects a section for each transport: of several, the one of the same kind.
 */
static void
choose(const struct bulk_class *bulk_class, struct parsed *parsed,
    const struct section *section)
{
    for (unsigned side = 0; side < RT_TRANSPORTS; side++) {
        const struct na_class *na_class = bulk_side_class(bulk_class, side);
        struct section *chosen = &parsed->sections[side];

        if (na_class && name_length(na_class) == section->name_length &&
            memcmp(na_class->plugin->name, section->name,
                section->name_length) == 0 &&
            (!chosen->name || (chosen->kind != side && section->kind == side)))
            *chosen = *section;
    }
}

static hg_return_t
parse(const struct bulk_class *bulk_class, const void *buf, size_t size,
    struct parsed *parsed)
{
    struct reader reader = {.at = buf, .left = size};
    struct section section;
    uint8_t count;
    hg_return_t ret;

    memset(parsed, 0, sizeof *parsed);
    ret = parse_header(&reader, parsed, &count);
    for (uint8_t i = 0; ret == HG_SUCCESS && i < count; i++) {
        ret = parse_section(&reader, parsed, &section);
        if (ret == HG_SUCCESS)
            choose(bulk_class, parsed, &section);
    }
    parsed->wire_size = size - reader.left;
    return ret;
}

static hg_return_t
decode_part(
    struct reader *body, struct na_class *na_class, struct bulk_part *part)
{
    const unsigned char *front = get(body, WIRE_PART_SIZE), *form;
    uint32_t length;

    if (!front)
        return HG_PROTOCOL_ERROR;
    length = u32_at(front + 8);
    form = get(body, length);
    if (!form)
        return HG_PROTOCOL_ERROR;
    part->size = u64_at(front);
    return (hg_return_t) na_mem_deserialize(na_class, form, length, &part->mem);
}

static hg_return_t
decode_addr(
    struct hg_bulk *bulk, unsigned side, unsigned kind, struct reader *body)
{
    struct na_class *na_class = bulk_side_class(bulk->bulk_class, side);
    na_sm_id_t host = bulk->bulk_class->host, theirs;
    na_plugin_addr *addr;
    na_return_t ret;

    if (kind == RT_LOCAL) {
        const unsigned char *node = get(body, 2 * sizeof(uint64_t));

        if (!node)
            return HG_PROTOCOL_ERROR;
        theirs.high = u64_at(node);
        theirs.low = u64_at(node + 8);
        /* From another node, or without the id of this node, shared memory does
         * not reach the owner. */
        if (side == RT_LOCAL && ((host.high == 0 && host.low == 0) ||
                                    !NA_SM_Host_id_cmp(host, theirs)))
            return HG_SUCCESS;
    }
    if (body->left == 0)
        return HG_SUCCESS;
    ret = na_addr_deserialize(na_class, body->at, body->left, &addr);
    if (ret != NA_SUCCESS)
        return (hg_return_t) ret;
    na_peer_set(&bulk->sides[side].addr, na_class, addr);
    return HG_SUCCESS;
}

static hg_return_t
decode_side(struct hg_bulk *bulk, unsigned side, struct section *section)
{
    struct bulk_side *to = &bulk->sides[side];
    hg_size_t total = 0;

    if (!section->name)
        return HG_SUCCESS;
    for (uint32_t i = 0; i < to->part_count; i++) {
        hg_return_t ret = decode_part(&section->body,
            bulk_side_class(bulk->bulk_class, side), &to->parts[i]);

        if (ret != HG_SUCCESS)
            return ret;
        if (to->parts[i].size == 0 || to->parts[i].size > bulk->size - total)
            return HG_PROTOCOL_ERROR;
        total += to->parts[i].size;
    }
    if (!bulk->data && total != bulk->size)
        return HG_PROTOCOL_ERROR;
    to->usable = !bulk->data;
    if (bulk->bound)
        return decode_addr(bulk, side, section->kind, &section->body);
    return section->body.left == 0 ? HG_SUCCESS : HG_PROTOCOL_ERROR;
}

/* Makes a descriptor of what was parsed, with a copy of its bytes, to serialize
 * it again unchanged. */
static hg_return_t
decode(struct bulk_class *bulk_class, struct parsed *parsed, const void *buf,
    struct hg_bulk **bulk_p)
{
    const uint32_t part_counts[RT_TRANSPORTS] = {
        parsed->sections[RT_MAIN].part_count,
        parsed->sections[RT_LOCAL].part_count};
    struct hg_bulk *bulk =
        bulk_alloc(bulk_class, 0, part_counts, parsed->wire_size);
    bool unreached, main_read;
    hg_return_t ret;

    if (!bulk)
        return HG_NOMEM;
    memcpy(bulk->wire, buf, parsed->wire_size);
    bulk->wire_size = parsed->wire_size;
    if (parsed->data)
        bulk->data = bulk->wire + WIRE_HEADER_SIZE;
    bulk->remote = true;
    bulk->bound = (parsed->flags & WIRE_BOUND) != 0;
    bulk->flags = parsed->flags & HG_BULK_READWRITE;
    bulk->context_id = parsed->context_id;
    bulk->segment_count = parsed->segment_count;
    bulk->size = parsed->size;
    bulk->owner = parsed->owner;
    atomic_init(&bulk->number, parsed->number);
    ret = decode_side(bulk, RT_MAIN, &parsed->sections[RT_MAIN]);
    /* An owner that doesn't listen is known only to those it has called, over
     * that transport: peers of its node over the local one. */
    unreached = ret == HG_OPNOTSUPPORTED && bulk->bound;
    main_read = ret == HG_SUCCESS;
    if (ret == HG_SUCCESS || unreached)
        ret = decode_side(bulk, RT_LOCAL, &parsed->sections[RT_LOCAL]);
    if (ret == HG_SUCCESS && unreached && !bulk->sides[RT_LOCAL].addr.addr)
        ret = HG_OPNOTSUPPORTED;
    /* If the local transport cannot parse its part, for example of another
     * version, the main one is used. */
    if (ret == HG_PROTOCOL_ERROR && main_read && bulk->sides[RT_MAIN].usable &&
        !bulk->bound) {
        bulk->sides[RT_LOCAL].usable = false;
        ret = HG_SUCCESS;
    }
    if (ret == HG_SUCCESS)
        *bulk_p = bulk;
    else
        HG_Bulk_free(bulk);
    return ret;
}

hg_return_t
HG_Bulk_deserialize(hg_class_t *hg_class, hg_bulk_t *handle, const void *buf,
    hg_size_t buf_size)
{
    struct bulk_class *bulk_class = bulk_class_of(hg_class);
    struct parsed parsed;
    hg_return_t ret;

    if (!hg_class || !handle || !buf)
        return HG_INVALID_ARG;
    ret = parse(bulk_class, buf, buf_size, &parsed);
    if (ret == HG_SUCCESS)
        ret = decode(bulk_class, &parsed, buf, handle);
    if (ret != HG_SUCCESS)
        LOG_THINNED(BULK, ERROR, "malformed descriptor of %llu bytes: %s",
            (unsigned long long) buf_size,
            NA_Error_to_string((na_return_t) ret));
    return ret;
}

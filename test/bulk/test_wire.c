/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialized descriptors: golden bytes, and passing them on from process to
 * process. */
#include "counts.h"
#include "log_watch.h"
#include "mover.h"

#include <stdlib.h>
#include <string.h>

#define HEADER 32U
#define SECTION 12U
#define PART 12U

static const struct session_setup setup = {
    .open = mover_open, .stopping = mover_stopping, .origin_listens = true};

struct bytes {
    size_t size;
    unsigned char *at;
};

static struct bytes
serialize(hg_bulk_t bulk, unsigned long flags)
{
    struct bytes bytes = {.size = HG_Bulk_get_serialize_size(bulk, flags)};

    ck_assert_uint_ge(bytes.size, HEADER);
    bytes.at = malloc(bytes.size);
    ck_assert_ptr_nonnull(bytes.at);
    for (size_t room = 0; room < bytes.size; room += room < 8 ? 1 : 7)
        ck_assert_int_eq(
            HG_Bulk_serialize(bytes.at, room, flags, bulk), HG_OVERFLOW);
    ck_assert_int_eq(
        HG_Bulk_serialize(bytes.at, bytes.size, flags, bulk), HG_SUCCESS);
    return bytes;
}

static uint32_t
u32_at(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t) bytes[1] << 8 | (uint32_t) bytes[2] << 16 |
           (uint32_t) bytes[3] << 24;
}

/* Checks the only section of a descriptor: number of registrations, and the
 * bytes that follow. */
static const unsigned char *
ck_section(struct session *s, const unsigned char *at, const unsigned char *end,
    uint32_t parts_min, size_t memory)
{
    const char *name = HG_Class_get_name(s->hg_class);
    size_t name_length = strlen(name), total = 0;
    uint32_t parts = u32_at(at + 4);

    ck_assert_uint_eq(at[0], 0);
    ck_assert_uint_eq(at[1], name_length);
    ck_assert_uint_eq(at[2] | at[3], 0);
    ck_assert_uint_ge(parts, parts_min);
    ck_assert_uint_eq(
        u32_at(at + 8), (size_t) (end - at) - SECTION - name_length);
    ck_assert_mem_eq(at + SECTION, name, name_length);
    at += SECTION + name_length;
    for (uint32_t i = 0; i < parts; i++) {
        ck_assert_uint_ge((size_t) (end - at), PART);
        total += u32_at(at);
        ck_assert_uint_eq(u32_at(at + 4), 0);
        at += PART + u32_at(at + 8);
    }
    ck_assert_uint_eq(total, memory);
    return at;
}

START_TEST(wire_form_has_golden_bytes)
{
    /* version 2, read-only, context, one section, 3 segments, 0x1234 bytes */
    static const unsigned char golden[16] = {
        2, 1, 0, 1, 3, 0, 0, 0, 0x34, 0x12, 0, 0, 0, 0, 0, 0};
    static const unsigned char zeros[8];
    struct session s;
    hg_size_t sizes[3] = {0x1000, 0x200, 0x34};
    struct bytes bytes, more;
    hg_bulk_t bulk, copy;

    session_begin(&s, _i, &setup);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 3, NULL, sizes, HG_BULK_READ_ONLY, &bulk),
        HG_SUCCESS);
    bytes = serialize(bulk, 0);
    ck_assert_mem_eq(bytes.at, golden, sizeof golden);
    /* The ids of class and descriptor are random and not 0. */
    ck_assert_mem_ne(bytes.at + 16, zeros, sizeof zeros);
    ck_assert_mem_ne(bytes.at + 24, zeros, sizeof zeros);
    ck_assert_ptr_eq(
        ck_section(&s, bytes.at + HEADER, bytes.at + bytes.size, 1, 0x1234),
        bytes.at + bytes.size);
    more = serialize(bulk, HG_BULK_SM); /* there is no second transport */
    ck_assert_uint_eq(more.size, bytes.size);
    ck_assert_mem_eq(more.at, bytes.at, bytes.size);

    ck_assert_int_eq(
        HG_Bulk_deserialize(s.hg_class, &copy, bytes.at, bytes.size),
        HG_SUCCESS);
    ck_assert_uint_eq(HG_Bulk_get_size(copy), 0x1234);
    ck_assert_uint_eq(HG_Bulk_get_segment_count(copy), 3);
    ck_assert_uint_eq(HG_Bulk_get_flags(copy), HG_BULK_READ_ONLY);
    ck_assert_ptr_null(HG_Bulk_get_addr(copy));
    ck_assert_uint_eq(HG_Bulk_get_context_id(copy), 0);
    ck_assert_int_eq(
        HG_Bulk_access(copy, 0, 1, HG_BULK_READ_ONLY, 0, NULL, NULL, NULL),
        HG_OPNOTSUPPORTED);
    ck_assert_int_eq(HG_Bulk_bind(copy, s.context), HG_INVALID_ARG);
    HG_Bulk_free(copy);
    HG_Bulk_free(bulk);
    free(more.at);
    free(bytes.at);
    session_end(&s);
}
END_TEST

START_TEST(wire_form_with_data_has_golden_bytes)
{
    /* the data instead of a section; no id, since the owner is never asked */
    static const unsigned char golden[] = {2, 0x11, 0, 0, 3, 0, 0, 0, 5, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'h', 'e',
        'l', 'l', 'o'};
    struct session s;
    char he[] = "he", llo[] = "llo";
    void *bases[3] = {he, NULL, llo}, *data;
    hg_size_t sizes[3] = {2, 0, 3}, size;
    struct bytes bytes;
    hg_bulk_t bulk, copy;
    uint32_t count;

    session_begin(&s, _i, &setup);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 3, bases, sizes, HG_BULK_READ_ONLY, &bulk),
        HG_SUCCESS);
    bytes = serialize(bulk, HG_BULK_EAGER);
    ck_assert_uint_eq(bytes.size, sizeof golden);
    ck_assert_mem_eq(bytes.at, golden, sizeof golden);
    ck_assert_int_eq(
        HG_Bulk_deserialize(s.hg_class, &copy, bytes.at, bytes.size),
        HG_SUCCESS);
    ck_assert_int_eq(
        HG_Bulk_access(copy, 1, 3, HG_BULK_READ_ONLY, 1, &data, &size, &count),
        HG_SUCCESS);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(size, 3);
    ck_assert_mem_eq(data, "ell", 3);
    ck_assert_int_eq(
        HG_Bulk_access(copy, 1, 5, HG_BULK_READ_ONLY, 1, &data, &size, &count),
        HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Bulk_access(copy, 1, 3, HG_BULK_WRITE_ONLY, 1, &data, &size, &count),
        HG_PERMISSION);
    HG_Bulk_free(copy);
    HG_Bulk_free(bulk);
    free(bytes.at);
    session_end(&s);
}
END_TEST

START_TEST(wire_form_of_bound_descriptor_has_its_owner)
{
    struct session s;
    hg_size_t size = 100;
    struct bytes bytes;
    const unsigned char *behind;
    hg_bulk_t bulk, copy;
    hg_addr_t self;

    session_begin(&s, _i, &setup);
    ck_assert_int_eq(HG_Addr_self(s.hg_class, &self), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 1, NULL, &size, HG_BULK_READ_ONLY, &bulk),
        HG_SUCCESS);
    /* binding does not change what was serialized before */
    bytes = serialize(bulk, 0);
    ck_assert_uint_eq(bytes.at[1], 1);
    free(bytes.at);
    ck_assert_int_eq(HG_Bulk_bind(bulk, s.context), HG_SUCCESS);
    for (unsigned long flags = 0; flags <= HG_BULK_EAGER;
         flags += HG_BULK_EAGER) {
        bytes = serialize(bulk, flags);
        ck_assert_uint_eq(bytes.at[1], flags ? 0x91 : 0x81);
        ck_assert_uint_eq(bytes.at[3], 1);
        behind = ck_section(&s, bytes.at + HEADER + (flags ? size : 0),
            bytes.at + bytes.size, flags ? 0 : 1, flags ? 0 : size);
        ck_assert(behind < bytes.at + bytes.size);
        ck_assert_int_eq(
            HG_Bulk_deserialize(s.hg_class, &copy, bytes.at, bytes.size),
            HG_SUCCESS);
        ck_assert_uint_eq(
            HG_Addr_cmp(s.hg_class, HG_Bulk_get_addr(copy), self), 1);
        HG_Bulk_free(copy);
        free(bytes.at);
    }
    HG_Addr_free(s.hg_class, self);
    HG_Bulk_free(bulk);
    session_end(&s);
}
END_TEST

/* A peer's descriptor, serialized again, is unchanged. */
START_TEST(wire_form_can_be_forwarded_unchanged)
{
    struct session s;
    hg_size_t sizes[2] = {300, 400};
    hg_bulk_t bulk, copy, again;
    struct bytes first, second;

    session_begin(&s, _i, &setup);
    for (unsigned variant = 0; variant < 4; variant++) {
        ck_assert_int_eq(HG_Bulk_create(s.hg_class, 2, NULL, sizes,
                             HG_BULK_READ_ONLY, &bulk),
            HG_SUCCESS);
        if (variant & 1)
            ck_assert_int_eq(HG_Bulk_bind(bulk, s.context), HG_SUCCESS);
        first = serialize(bulk, variant & 2 ? HG_BULK_EAGER : 0);
        /* Bytes after the descriptor are ignored. */
        first.at = realloc(first.at, first.size + 9);
        memset(first.at + first.size, 0xee, 9);
        ck_assert_int_eq(
            HG_Bulk_deserialize(s.hg_class, &copy, first.at, first.size + 9),
            HG_SUCCESS);
        HG_Bulk_free(bulk);
        second = serialize(copy, variant & 1 ? 0 : HG_BULK_EAGER);
        ck_assert_uint_eq(second.size, first.size);
        ck_assert_mem_eq(second.at, first.at, first.size);
        ck_assert_int_eq(
            HG_Bulk_deserialize(s.hg_class, &again, second.at, second.size),
            HG_SUCCESS);
        HG_Bulk_free(copy);
        ck_assert_uint_eq(HG_Bulk_get_size(again), 700);
        ck_assert_uint_eq(HG_Bulk_get_segment_count(again), 2);
        ck_assert_int_eq(HG_Bulk_get_addr(again) != NULL, variant & 1);
        HG_Bulk_free(again);
        free(first.at);
        free(second.at);
    }
    session_end(&s);
}
END_TEST

/* Sections of other transports are kept unread; a descriptor without a section
 * of the own transport cannot be transferred. */
START_TEST(wire_form_of_other_transports_is_kept_unread)
{
    struct session s;
    hg_size_t size = 100;
    hg_bulk_t bulk, copy, local;
    struct bytes bytes, again;

    session_begin(&s, _i, &setup);
    log_expect("is not registered with", 1, 1);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 1, NULL, &size, HG_BULK_READWRITE, &bulk),
        HG_SUCCESS);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 1, NULL, &size, HG_BULK_READWRITE, &local),
        HG_SUCCESS);
    bytes = serialize(bulk, 0);
    bytes.at[16] ^= 0x80;            /* of another transport */
    bytes.at[HEADER + SECTION] ^= 1; /* and its name */
    memset(bytes.at + HEADER + SECTION + strlen(HG_Class_get_name(s.hg_class)),
        0xff, 8);
    ck_assert_int_eq(
        HG_Bulk_deserialize(s.hg_class, &copy, bytes.at, bytes.size),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_transfer(s.context, NULL, NULL, HG_BULK_PULL,
                         s.target, copy, 0, local, 0, 1, HG_OP_ID_IGNORE),
        HG_OPNOTSUPPORTED);
    again = serialize(copy, 0);
    ck_assert_uint_eq(again.size, bytes.size);
    ck_assert_mem_eq(again.at, bytes.at, bytes.size);
    HG_Bulk_free(copy);
    HG_Bulk_free(local);
    HG_Bulk_free(bulk);
    free(again.at);
    free(bytes.at);
    session_end(&s);
}
END_TEST

/* Decodes the arguments that are the first bytes of a buffer. */
static hg_return_t
decode(struct session *s, unsigned char *buffer, size_t size, hg_bulk_t *bulk_p)
{
    hg_return_t ret;
    hg_proc_t proc;

    ck_assert_int_eq(hg_proc_create_set(s->hg_class, buffer, size, HG_DECODE,
                         HG_NOHASH, &proc),
        HG_SUCCESS);
    ret = hg_proc_hg_bulk_t(proc, bulk_p);
    if (ret == HG_SUCCESS)
        ck_assert_uint_eq(hg_proc_get_size_left(proc), 0);
    ck_assert_int_eq(hg_proc_free(proc), HG_SUCCESS);
    return ret;
}

START_TEST(wire_descriptor_longer_than_the_arguments_is_rejected)
{
    unsigned char buffer[1024];
    struct session s;
    hg_size_t memory = 100, used;
    hg_bulk_t bulk, copy = HG_BULK_NULL;
    hg_proc_t proc;

    session_begin(&s, _i, &setup);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 1, NULL, &memory, HG_BULK_READWRITE, &bulk),
        HG_SUCCESS);
    ck_assert_int_eq(hg_proc_create_set(s.hg_class, buffer, sizeof buffer,
                         HG_ENCODE, HG_NOHASH, &proc),
        HG_SUCCESS);
    ck_assert_int_eq(hg_proc_hg_bulk_t(proc, &bulk), HG_SUCCESS);
    used = hg_proc_get_size_used(proc);
    ck_assert_int_eq(hg_proc_free(proc), HG_SUCCESS);
    for (size_t size = 0; size < used; size++)
        ck_assert_int_eq(decode(&s, buffer, size, &copy), HG_OVERFLOW);
    ck_assert_ptr_null(copy);
    ck_assert_int_eq(decode(&s, buffer, used, &copy), HG_SUCCESS);
    ck_assert_uint_eq(HG_Bulk_get_size(copy), memory);
    ck_assert_int_eq(HG_Bulk_free(copy), HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_free(bulk), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, wire_form_has_golden_bytes);
    session_add(tcase, wire_descriptor_longer_than_the_arguments_is_rejected);
    session_add(tcase, wire_form_with_data_has_golden_bytes);
    session_add(tcase, wire_form_of_bound_descriptor_has_its_owner);
    session_add(tcase, wire_form_can_be_forwarded_unchanged);
    session_add(tcase, wire_form_of_other_transports_is_kept_unread);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "wire", add);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations and addresses, with their bytes. */
#include "common/memory.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/address.h"
#include "runner.h"

static int32_t level = NA_PLUGIN_LOG_DEBUG;
static uint32_t logged;
static uint32_t warnings;

static void
note(const na_plugin_host *host, int32_t at, const char *file, uint32_t line,
    const char *text)
{
    logged++;
    warnings += at == NA_PLUGIN_LOG_WARNING;
}

static const na_plugin_host host = {
    .size = sizeof(host), .log_level = &level, .log = note};

START_TEST(registrations_are_checked)
{
    char memory[8];
    const na_plugin_segment segments[] = {{memory, 3}, {memory + 4, 4}};
    const na_plugin_segment empty[] = {{memory, 3}, {memory, 0}};
    const na_plugin_segment around[] = {{memory, UINT64_MAX}};
    const na_plugin_mem_info sound = {.size = sizeof(sound),
        .segments = segments,
        .count = 2,
        .access = NA_PLUGIN_MEM_READ};
    struct tp_mem mem = {.total = 0};
    na_plugin_mem_info wrong[9];

    ck_assert_int_eq(tp_mem_check(&host, &sound, 2, false, &mem), NA_PLUGIN_OK);
    ck_assert_uint_eq(mem.total, 7);
    ck_assert_uint_eq(mem.count, 2);
    ck_assert_uint_eq(mem.access, NA_PLUGIN_MEM_READ);
    for (uint32_t i = 0; i < 9; i++)
        wrong[i] = sound;
    wrong[0].size = NA_PLUGIN_MEM_INFO_SIZE_1_0 - 1;
    wrong[1].flags = 1;
    wrong[2].count = 0;
    wrong[3].count = 3;
    wrong[4].segments = empty;
    wrong[5].segments = around;
    wrong[6].access = 0;
    wrong[7].access = 4;
    wrong[8].segments = NULL;
    for (uint32_t i = 0; i < 9; i++)
        ck_assert_int_eq(tp_mem_check(&host, &wrong[i], 2, false, &mem),
            NA_PLUGIN_E_INVALID_ARG);
    wrong[0] = sound;
    wrong[0].mem_type = NA_PLUGIN_MEM_CUDA;
    ck_assert_int_eq(tp_mem_check(&host, &wrong[0], 2, false, &mem),
        NA_PLUGIN_E_OPNOTSUPPORTED);
    ck_assert_int_eq(
        tp_mem_check(&host, &wrong[0], 2, true, &mem), NA_PLUGIN_OK);
    wrong[0].mem_type = NA_PLUGIN_MEM_ZE + 1;
    ck_assert_int_eq(tp_mem_check(&host, &wrong[0], 2, true, &mem),
        NA_PLUGIN_E_OPNOTSUPPORTED);
}
END_TEST

START_TEST(ranges_and_access_are_checked)
{
    const struct tp_mem mem = {.total = 10, .access = NA_PLUGIN_MEM_WRITE};
    const uint32_t write = NA_PLUGIN_MEM_WRITE;

    ck_assert_int_eq(tp_mem_permits(&mem, 0, 10, write), NA_PLUGIN_OK);
    ck_assert_int_eq(tp_mem_permits(&mem, 10, 0, write), NA_PLUGIN_OK);
    ck_assert_int_eq(
        tp_mem_permits(&mem, 10, 1, write), NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(
        tp_mem_permits(&mem, 11, 0, write), NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(
        tp_mem_permits(&mem, 1, UINT64_MAX, write), NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(
        tp_mem_permits(&mem, 0, 1, NA_PLUGIN_MEM_READ), NA_PLUGIN_E_PERMISSION);
    logged = 0;
    ck_assert_int_eq(
        tp_mem_check_range(&host, &mem, 0, 10, write, "own"), NA_PLUGIN_OK);
    ck_assert_uint_eq(logged, 0);
    tp_mem_check_range(&host, &mem, 0, 11, write, "own");
    tp_mem_check_range(&host, &mem, 0, 1, NA_PLUGIN_MEM_READ, "own");
    ck_assert_uint_eq(logged, 2);
}
END_TEST

START_TEST(copies_cross_segments)
{
    char memory[] = "abcdefghij", buffer[11] = "";
    const na_plugin_segment segments[] = {
        {memory + 6, 4}, {memory, 1}, {memory + 1, 5}}; /* ghijabcdef */

    tp_segments_read(segments, 0, buffer, 10);
    ck_assert_str_eq(buffer, "ghijabcdef");
    memset(buffer, 0, sizeof(buffer));
    tp_segments_read(segments, 3, buffer, 4);
    ck_assert_str_eq(buffer, "jabc");
    tp_segments_write(segments, 4, "XYZ", 3);
    ck_assert_str_eq(memory, "XYZdefghij");
    tp_segments_read(segments, 10, buffer, 0);
    tp_segments_write(segments, 0, NULL, 0);
}
END_TEST

START_TEST(walk_yields_parts_within_a_segment_at_both_sides)
{
    char near[10], far[10];
    const na_plugin_segment here[] = {{near, 4}, {near + 4, 6}};
    const na_plugin_segment there[] = {{far, 1}, {far + 1, 6}, {far + 7, 3}};
    static const uint64_t lengths[] = {2, 4, 2};
    struct tp_walk walk = {.near = here,
        .far = there,
        .near_offset = 2,
        .far_offset = 1,
        .left = 8};
    struct tp_part part;
    uint64_t at = 0;

    for (int i = 0; i < 3; i++) {
        ck_assert(tp_walk_next(&walk, &part));
        ck_assert_uint_eq(part.length, lengths[i]);
        ck_assert_ptr_eq(part.here, near + 2 + at);
        ck_assert_uint_eq(part.there, (uintptr_t) (far + 1 + at));
        ck_assert_ptr_eq(part.far, &there[i == 2 ? 2 : 1]);
        at += part.length;
    }
    ck_assert(!tp_walk_next(&walk, &part));
}
END_TEST

/* Two segments and three bytes of the plugin, as peers see them. */
static const unsigned char golden[] = {7, 3, 2, 0, 3, 0, 0, 0,  /* header */
    0x11, 0, 0, 0, 0, 0, 0, 0x22, 0x33, 0, 0, 0, 0, 0, 0, 0x44, /* numbers */
    0x00, 0x10, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0,       /* segments */
    0x00, 0x20, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 'c'};

static int32_t
read_back(const unsigned char *bytes, uint64_t length, struct tp_mem *mem,
    na_plugin_segment *segments, const unsigned char **extra_p)
{
    uint32_t extra_length = 0;

    int32_t ret = tp_mem_deserialize_front(
        &host, 7, bytes, length, 2, mem, extra_p, &extra_length);
    if (ret != NA_PLUGIN_OK)
        return ret;
    ck_assert(*extra_p + extra_length <= bytes + length);
    return tp_mem_deserialize_segments(&host, bytes, mem, segments);
}

START_TEST(registrations_round_trip_as_bytes)
{
    na_plugin_segment segments[2] = {
        {(void *) (uintptr_t) 0x1000, 5}, {(void *) (uintptr_t) 0x2000, 6}};
    struct tp_mem mem = {.keyed.key = UINT64_C(0x4400000000000033),
        .owner = UINT64_C(0x2200000000000011),
        .access = 3,
        .count = 2};
    const unsigned char *extra = NULL;
    unsigned char bytes[sizeof(golden)];
    uint64_t size = 0;

    ck_assert_int_eq(tp_mem_serialize(7, &mem, segments, "abc", 3, NULL, &size),
        NA_PLUGIN_OK);
    ck_assert_uint_eq(size, sizeof(golden));
    size--;
    ck_assert_int_eq(
        tp_mem_serialize(7, &mem, segments, "abc", 3, bytes, &size),
        NA_PLUGIN_E_OVERFLOW);
    ck_assert_int_eq(
        tp_mem_serialize(7, &mem, segments, "abc", 3, bytes, &size),
        NA_PLUGIN_OK);
    ck_assert_mem_eq(bytes, golden, sizeof(golden));

    struct tp_mem back = {.total = 0};
    memset(segments, 0, sizeof(segments));
    ck_assert_int_eq(read_back(golden, sizeof(golden), &back, segments, &extra),
        NA_PLUGIN_OK);
    ck_assert(back.owner == mem.owner && back.keyed.key == mem.keyed.key &&
              back.access == 3 && back.count == 2 && back.total == 11);
    ck_assert_uint_eq((uintptr_t) segments[1].base, 0x2000);
    ck_assert_mem_eq(extra, "abc", 3);
}
END_TEST

START_TEST(malformed_registrations_are_rejected)
{
    /* a byte of golden, and an invalid value for it */
    static const struct {
        uint32_t at;
        unsigned char value;
        int32_t code;
    } wrong[] = {{0, 8, NA_PLUGIN_E_PROTOCOL_ERROR},
        {1, 0, NA_PLUGIN_E_INVALID_ARG}, {1, 4, NA_PLUGIN_E_INVALID_ARG},
        {2, 0, NA_PLUGIN_E_INVALID_ARG}, {2, 3, NA_PLUGIN_E_INVALID_ARG},
        {3, 1, NA_PLUGIN_E_INVALID_ARG}, {4, 4, NA_PLUGIN_E_INVALID_ARG},
        {7, 255, NA_PLUGIN_E_INVALID_ARG}, {32, 0, NA_PLUGIN_E_INVALID_ARG},
        {39, 255, NA_PLUGIN_E_INVALID_ARG}};
    na_plugin_segment segments[2];
    const unsigned char *extra = NULL;
    struct tp_mem mem = {.total = 0};
    unsigned char bytes[sizeof(golden)];

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        memcpy(bytes, golden, sizeof(golden));
        bytes[wrong[i].at] = wrong[i].value;
        ck_assert_int_eq(
            read_back(bytes, sizeof(bytes), &mem, segments, &extra),
            wrong[i].code);
    }
    for (uint64_t length = 0; length < sizeof(golden); length++)
        ck_assert_int_eq(read_back(golden, length, &mem, segments, &extra),
            NA_PLUGIN_E_INVALID_ARG);
}
END_TEST

/* A plugin's registration, with something of its own for each segment. */
struct registration {
    struct tp_mem mem;
    uint64_t zero;
    na_plugin_segment segments[];
};
#define AT offsetof(struct registration, segments)

START_TEST(registrations_are_made_with_their_segments)
{
    char memory[8];
    const na_plugin_segment segments[] = {{memory, 3}, {memory + 4, 4}};
    na_plugin_mem_info info = {.size = sizeof(info),
        .segments = segments,
        .count = 2,
        .access = NA_PLUGIN_MEM_READ};
    const unsigned char *each;
    void *made = NULL;

    ck_assert_int_eq(
        tp_mem_make(&host, &info, 2, false, AT, 8, &made), NA_PLUGIN_OK);
    struct registration *one = made;
    ck_assert_uint_eq(one->mem.total, 7);
    ck_assert_uint_eq(one->mem.count, 2);
    ck_assert_uint_eq(one->zero, 0);
    ck_assert_mem_eq(one->segments, segments, sizeof(segments));
    each = (const unsigned char *) &one->segments[2];
    for (uint32_t i = 0; i < 16; i++)
        ck_assert_uint_eq(each[i], 0);
    free(made);
    made = NULL;
    ck_assert_int_eq(tp_mem_make(&host, &info, 1, false, AT, 8, &made),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_ptr_null(made);
}
END_TEST

START_TEST(registrations_are_read_with_their_segments)
{
    unsigned char bytes[sizeof(golden)];
    const unsigned char *extra = NULL;
    uint32_t extra_length = 0;
    void *made = NULL;

    ck_assert_int_eq(tp_mem_read(&host, 7, golden, sizeof(golden), 2, AT, 8,
                         &made, &extra, &extra_length),
        NA_PLUGIN_OK);
    struct registration *one = made;
    ck_assert_uint_eq(one->mem.total, 11);
    ck_assert_uint_eq((uintptr_t) one->segments[1].base, 0x2000);
    ck_assert_uint_eq(one->segments[1].length, 6);
    ck_assert_uint_eq(one->zero, 0);
    ck_assert_uint_eq(extra_length, 3);
    ck_assert_mem_eq(extra, "abc", 3);
    free(made);
    made = NULL;
    for (uint64_t length = 0; length < sizeof(golden); length++)
        ck_assert_int_eq(tp_mem_read(&host, 7, golden, length, 2, AT, 8, &made,
                             &extra, &extra_length),
            NA_PLUGIN_E_INVALID_ARG);
    memcpy(bytes, golden, sizeof(golden));
    bytes[32] = 0; /* an empty segment */
    ck_assert_int_eq(tp_mem_read(&host, 7, bytes, sizeof(bytes), 2, AT, 8,
                         &made, &extra, &extra_length),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_ptr_null(made);
}
END_TEST

START_TEST(registrations_of_too_many_segments_are_rejected)
{
    const unsigned char *extra = NULL;
    uint32_t extra_length = 0;
    struct tp_mem mem = {.total = 0};

    ck_assert_int_eq(tp_mem_deserialize_front(&host, 7, golden, sizeof(golden),
                         1, &mem, &extra, &extra_length),
        NA_PLUGIN_E_INVALID_ARG);
}
END_TEST

START_TEST(segments_that_wrap_are_rejected)
{
    na_plugin_segment segment = {(void *) (UINTPTR_MAX - 7), 7};

    ck_assert_uint_eq(tp_segments_total(&segment, 1), 7);
    segment.length = 8;
    ck_assert_uint_eq(tp_segments_total(&segment, 1), 0);
}
END_TEST

struct named {
    struct tp_addr addr;
    char name[8];
};

START_TEST(name_has_one_object_while_referenced)
{
    struct tp_table table;
    struct named named[100] = {0};
    static const char owner;

    ck_assert_int_eq(tp_table_init(&table), NA_PLUGIN_OK);
    for (int i = 0; i < 100; i++) {
        snprintf(named[i].name, sizeof(named[i].name), "n%d", i);
        tp_addr_enter(
            &table, &named[i].addr, named[i].name, strlen(named[i].name));
    }
    ck_assert_ptr_eq(tp_addr_find(&table, NULL, "n57", 3), &named[57].addr);
    ck_assert_ptr_null(tp_addr_find(&table, NULL, "n577", 4));
    ck_assert_ptr_null(tp_addr_find(&table, &owner, "n57", 3));
    tp_addr_hold(&named[57].addr, false);
    tp_addr_hold(&named[57].addr, true);
    ck_assert(tp_addr_release_shared(&named[57].addr));
    ck_assert(!tp_addr_release(&table, &named[57].addr));
    ck_assert(!tp_addr_release_shared(&named[57].addr));
    tp_addr_hold(&named[57].addr, true);
    ck_assert(tp_addr_release_single(&named[57].addr));
    ck_assert(!tp_addr_release_single(&named[57].addr));
    ck_assert_ptr_eq(tp_addr_find(&table, NULL, "n57", 3), &named[57].addr);
    ck_assert(tp_addr_release(&table, &named[57].addr));
    ck_assert_ptr_null(tp_addr_find(&table, NULL, "n57", 3));
    ck_assert_uint_eq(table.count, 99);

    struct tp_addr nameless = {.length = 0};
    tp_addr_enter(&table, &nameless, NULL, 0);
    ck_assert_uint_eq(table.count, 99);
    ck_assert(tp_addr_release(&table, &nameless));
    tp_table_fini(&table);
}
END_TEST

START_TEST(addresses_round_trip_as_text_and_bytes)
{
    const char *rest = NULL;
    char text[32];
    uint64_t size = 8;

    ck_assert_int_eq(
        tp_addr_rest(&host, "demo://host:1", "demo", &rest), NA_PLUGIN_OK);
    ck_assert_str_eq(rest, "host:1");
    ck_assert_int_eq(tp_addr_rest(&host, "demo:host", "demo", &rest),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(tp_addr_rest(&host, "demon://h", "demo", &rest),
        NA_PLUGIN_E_PROTONOSUPPORT);
    ck_assert_int_eq(
        tp_addr_rest(&host, "://h", "demo", &rest), NA_PLUGIN_E_PROTONOSUPPORT);
    ck_assert_int_eq(
        tp_addr_to_string("demo", "host:1", text, &size), NA_PLUGIN_E_OVERFLOW);
    ck_assert_uint_eq(size, 14);
    ck_assert_int_eq(
        tp_addr_to_string("demo", "host:1", text, &size), NA_PLUGIN_OK);
    ck_assert_str_eq(text, "demo://host:1");

    unsigned char bytes[5];
    const unsigned char *content = NULL;
    size_t length = 0;
    uint8_t form = 0;
    size = sizeof(bytes);
    ck_assert_int_eq(
        tp_addr_serialize(2, "abc", 3, bytes, &size), NA_PLUGIN_OK);
    ck_assert_mem_eq(bytes, "\2\3abc", 5);
    ck_assert_int_eq(
        tp_addr_deserialize(&host, 2, bytes, 5, &form, &content, &length),
        NA_PLUGIN_OK);
    ck_assert(form == 2 && length == 3 && content == bytes + 2);
    ck_assert_int_eq(
        tp_addr_deserialize(&host, 1, bytes, 5, &form, &content, &length),
        NA_PLUGIN_E_PROTOCOL_ERROR);
    for (uint64_t short_of = 0; short_of < 5; short_of++)
        ck_assert_int_eq(tp_addr_deserialize(&host, 2, bytes, short_of, &form,
                             &content, &length),
            NA_PLUGIN_E_INVALID_ARG);
    bytes[1] = 0;
    ck_assert_int_eq(
        tp_addr_deserialize(&host, 2, bytes, 5, &form, &content, &length),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(
        tp_addr_serialize(1, "", 256, NULL, &size), NA_PLUGIN_E_OPNOTSUPPORTED);
}
END_TEST

/* Whoever sends malformed bytes again and again does not fill the log. */
START_TEST(lines_that_peers_cause_are_thinned)
{
    static const unsigned char bytes[] = {1, 9, 0};
    const unsigned char *content;
    uint32_t extra_length;
    struct tp_mem mem;
    size_t length;
    uint8_t form;

    warnings = 0;
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(tp_addr_deserialize(&host, 1, bytes, sizeof(bytes),
                             &form, &content, &length),
            NA_PLUGIN_E_INVALID_ARG);
    ck_assert_uint_ge(warnings, 1);
    ck_assert_uint_le(warnings, 10);
    warnings = 0;
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(tp_mem_deserialize_front(&host, 1, bytes,
                             sizeof(bytes), 2, &mem, &content, &extra_length),
            NA_PLUGIN_E_INVALID_ARG);
    ck_assert_uint_ge(warnings, 1);
    ck_assert_uint_le(warnings, 10);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("memory");
    tcase_add_test(cases, registrations_are_checked);
    tcase_add_test(cases, ranges_and_access_are_checked);
    tcase_add_test(cases, copies_cross_segments);
    tcase_add_test(cases, walk_yields_parts_within_a_segment_at_both_sides);
    tcase_add_test(cases, registrations_round_trip_as_bytes);
    tcase_add_test(cases, malformed_registrations_are_rejected);
    tcase_add_test(cases, registrations_are_made_with_their_segments);
    tcase_add_test(cases, registrations_are_read_with_their_segments);
    tcase_add_test(cases, registrations_of_too_many_segments_are_rejected);
    tcase_add_test(cases, segments_that_wrap_are_rejected);
    tcase_add_test(cases, name_has_one_object_while_referenced);
    tcase_add_test(cases, addresses_round_trip_as_text_and_bytes);
    tcase_add_test(cases, lines_that_peers_cause_are_thinned);
    return run_tcase("memory", cases);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Access to registrations: a serialized one gives access to what it describes,
 * with the registered access, and to nothing else, whatever is done to its
 * bytes. */
#include <string.h>

#include "raw_peer.h"
#include "registered.h"

#define SELF (3U << 20) /* bytes: more than are copied at once */

/* A put or get by a with a forged serialized registration, of all bytes: it
 * fails, and no data move. */
static void
try_forged(struct pair *pair, struct registered *here,
    const struct registered *known, uint64_t key, uint32_t access, bool put)
{
    unsigned char bytes[256];

    memcpy(bytes, known->description, sizeof(bytes));
    bytes[AT_ACCESS] = (unsigned char) access;
    write64(bytes + AT_KEY, key);
    na_plugin_mem *forged = pair_deserialize(pair, bytes, known->size);
    ck_assert_int_lt(pair_transfer(pair, here->mem, forged, 0, LENGTH, put), 0);
    pair->a.ops->mem_remote_free(pair->a.cls, forged);
    ck_assert(is_filled(here->bytes, LENGTH, 99));
}

/* Registrations of another memory, made before and after a known one. */
START_TEST(keys_near_a_known_one_are_refused)
{
    static struct registered here, before, known, behind;
    struct node_options options = provider_options(_i);
    struct pair pair;

    if (is_refused_shm(&options))
        return;
    pair_open_as(&pair, &options);
    registered_add(&pair.a, &here, BOTH, 99);
    registered_add(&pair.b, &before, BOTH, 1);
    registered_add(&pair.b, &known, NA_PLUGIN_MEM_READ, 2);
    registered_add(&pair.b, &behind, BOTH, 3);
    for (uint32_t i = 1; i <= 2; i++) {
        try_forged(&pair, &here, &known, key_of(&known) - i, BOTH, false);
        try_forged(&pair, &here, &known, key_of(&known) + i, BOTH, false);
        try_forged(&pair, &here, &known, key_of(&known) - i, BOTH, true);
        try_forged(&pair, &here, &known, key_of(&known) + i, BOTH, true);
    }
    ck_assert(is_filled(before.bytes, LENGTH, 1));
    ck_assert(is_filled(behind.bytes, LENGTH, 3));
    /* the original still works */
    na_plugin_mem *remote =
        pair_deserialize(&pair, known.description, known.size);
    ck_assert_int_eq(
        pair_transfer(&pair, here.mem, remote, 0, LENGTH, false), NA_PLUGIN_OK);
    ck_assert(is_filled(here.bytes, LENGTH, 2));
    pair.a.ops->mem_remote_free(pair.a.cls, remote);
    registered_remove(&pair.a, &here);
    registered_remove(&pair.b, &before);
    registered_remove(&pair.b, &known);
    registered_remove(&pair.b, &behind);
    pair_close(&pair);
}
END_TEST

/* Access is checked against the owner's registration, not against the
 * serialized one. */
START_TEST(access_is_not_widened_by_a_forged_descriptor)
{
    static struct registered here, readable, writable;
    struct node_options options = provider_options(_i);
    struct pair pair;

    if (is_refused_shm(&options))
        return;
    pair_open_as(&pair, &options);
    registered_add(&pair.a, &here, BOTH, 99);
    registered_add(&pair.b, &readable, NA_PLUGIN_MEM_READ, 1);
    registered_add(&pair.b, &writable, NA_PLUGIN_MEM_WRITE, 2);
    try_forged(&pair, &here, &readable, key_of(&readable), BOTH, true);
    try_forged(&pair, &here, &writable, key_of(&writable), BOTH, false);
    try_forged(
        &pair, &here, &readable, key_of(&readable), NA_PLUGIN_MEM_WRITE, true);
    try_forged(
        &pair, &here, &writable, key_of(&writable), NA_PLUGIN_MEM_READ, false);
    ck_assert(is_filled(readable.bytes, LENGTH, 1));
    ck_assert(is_filled(writable.bytes, LENGTH, 2));
    na_plugin_mem *remote =
        pair_deserialize(&pair, writable.description, writable.size);
    ck_assert_int_eq(
        pair_transfer(&pair, here.mem, remote, 0, LENGTH, true), NA_PLUGIN_OK);
    ck_assert(is_filled(writable.bytes, LENGTH, 99));
    pair.a.ops->mem_remote_free(pair.a.cls, remote);
    registered_remove(&pair.a, &here);
    registered_remove(&pair.b, &readable);
    registered_remove(&pair.b, &writable);
    pair_close(&pair);
}
END_TEST

/* Transfers with self, which a peer may cause with forged bytes, are checked in
 * the same way. */
START_TEST(keys_and_access_are_checked_for_self)
{
    static struct registered here, known, other;
    static const struct {
        uint32_t at;
        uint32_t plus;
    } forgeries[] = {{AT_KEY, 1}, {AT_KEY, 255}, {AT_KEY + 7, 1},
        {AT_SEGMENT + 8, 1}, {16, 1}, {8, 1}};
    struct pair pair;

    pair_open_as(&pair, &(struct node_options){.protocol = "tcp"});
    pair.a.ops->addr_free(pair.a.cls, pair.to_b);
    ck_assert_int_eq(
        pair.a.ops->addr_self(pair.a.cls, &pair.to_b), NA_PLUGIN_OK);
    registered_add(&pair.a, &here, BOTH, 99);
    registered_add(&pair.a, &known, NA_PLUGIN_MEM_READ, 1);
    registered_add(&pair.a, &other, BOTH, 2);
    for (uint32_t i = 0; i < sizeof(forgeries) / sizeof(forgeries[0]); i++) {
        struct registered forged = known;
        unsigned char *byte = &forged.description[forgeries[i].at];
        *byte = (unsigned char) (*byte + forgeries[i].plus);
        try_forged(&pair, &here, &forged, key_of(&forged), BOTH, false);
        try_forged(&pair, &here, &forged, key_of(&forged), BOTH, true);
    }
    try_forged(&pair, &here, &known, key_of(&known), BOTH, true);
    ck_assert(is_filled(known.bytes, LENGTH, 1));
    ck_assert(is_filled(other.bytes, LENGTH, 2));
    na_plugin_mem *remote =
        pair_deserialize(&pair, known.description, known.size);
    ck_assert_int_eq(pair_transfer(&pair, here.mem, remote, 0, LENGTH, true),
        NA_PLUGIN_E_PERMISSION);
    ck_assert(is_filled(known.bytes, LENGTH, 1));
    ck_assert_int_eq(
        pair_transfer(&pair, here.mem, remote, 0, LENGTH, false), NA_PLUGIN_OK);
    ck_assert(is_filled(here.bytes, LENGTH, 1));
    pair.a.ops->mem_remote_free(pair.a.cls, remote);
    registered_remove(&pair.a, &here);
    registered_remove(&pair.a, &known);
    registered_remove(&pair.a, &other);
    pair_close(&pair);
}
END_TEST

/* A serialized registration of a peer must not be taken for local memory: its
 * addresses would be accessed in this process. Ranges have to lie within both
 * sides. */
START_TEST(descriptions_and_ranges_out_of_bounds_are_refused)
{
    static struct registered here, there;
    struct pair pair;

    pair_open(&pair);
    registered_add(&pair.a, &here, BOTH, 99);
    registered_add(&pair.b, &there, BOTH, 1);
    na_plugin_mem *remote =
        pair_deserialize(&pair, there.description, there.size);
    const struct {
        na_plugin_mem *local;
        uint64_t local_offset;
        uint64_t remote_offset;
        uint64_t length;
    } tries[] = {
        {remote, 0, 0, 1},
        {remote, 0, 0, LENGTH},
        {here.mem, 0, 0, LENGTH + 1},
        {here.mem, 1, 0, LENGTH},
        {here.mem, 0, 1, LENGTH},
        {here.mem, LENGTH, 0, 1},
        {here.mem, 0, LENGTH, 1},
        {here.mem, LENGTH + 1, 0, 0},
        {here.mem, 0, LENGTH + 1, 0},
        {here.mem, 2, 0, UINT64_MAX},
        {here.mem, 0, 2, UINT64_MAX},
        {here.mem, UINT64_MAX, 0, 2},
        {here.mem, 0, UINT64_MAX, 2},
    };
    for (uint32_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++)
        for (uint32_t put = 0; put < 2; put++)
            ck_assert_msg((put ? pair.a.ops->put : pair.a.ops->get)(pair.a.ctx,
                              pair.a_op, tries[i].local, tries[i].local_offset,
                              remote, tries[i].remote_offset, tries[i].length,
                              pair.to_b, 0, 0) == NA_PLUGIN_E_INVALID_ARG,
                "try %u is begun", i);
    /* up to the last byte, and an empty one */
    ck_assert_int_eq(pair.a.ops->put(pair.a.ctx, pair.a_op, here.mem, LENGTH,
                         remote, LENGTH, 0, pair.to_b, 0, 0),
        NA_PLUGIN_DONE);
    ck_assert_int_eq(
        pair_transfer(&pair, here.mem, remote, 0, LENGTH, true), NA_PLUGIN_OK);
    ck_assert(is_filled(there.bytes, LENGTH, 99));
    pair.a.ops->mem_remote_free(pair.a.cls, remote);
    registered_remove(&pair.a, &here);
    registered_remove(&pair.b, &there);
    pair_close(&pair);
}
END_TEST

/* Each byte is required, those of the plugin's internal memory too. */
START_TEST(truncated_descriptions_are_refused)
{
    static struct registered memory;
    na_plugin_mem *description = NULL;
    struct node node;

    awkward_set("NO_DELIVERY", _i == 0 ? "0" : "1");
    node_open(
        &node, &(struct node_options){.protocol = "awkward", .anywhere = true});
    registered_add(&node, &memory, BOTH, 1);
    ck_assert_uint_eq(memory.size, _i == 0 ? AT_READ : AT_READ + 16);
    for (uint64_t size = 0; size < memory.size; size++)
        ck_assert_int_eq(node.ops->mem_deserialize(
                             node.cls, memory.description, size, &description),
            NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(node.ops->mem_deserialize(node.cls, memory.description,
                         memory.size, &description),
        NA_PLUGIN_OK);
    node.ops->mem_remote_free(node.cls, description);
    registered_remove(&node, &memory);
    node_close(&node);
}
END_TEST

/* Transfers with self are copied in slices, across boundaries of separate
 * segments at both sides. */
START_TEST(transfers_to_self_move_every_byte)
{
    static unsigned char here[SELF + 64], there[SELF + 64];
    const na_plugin_segment local[] = {{here, SELF}};
    const na_plugin_segment remote[] = {
        {there + 5000, SELF - 5000}, {there, 4999}, {there + SELF, 1}};
    const uint32_t access = BOTH;
    na_plugin_mem *from = NULL, *to = NULL;
    struct pair pair;

    pair_open_as(&pair, &(struct node_options){.protocol = "tcp"});
    pair.a.ops->addr_free(pair.a.cls, pair.to_b);
    ck_assert_int_eq(
        pair.a.ops->addr_self(pair.a.cls, &pair.to_b), NA_PLUGIN_OK);
    ck_assert_int_eq(pair.a.ops->mem_register(pair.a.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             local, 1, access, 0, 0},
                         &from),
        NA_PLUGIN_OK);
    ck_assert_int_eq(pair.a.ops->mem_register(pair.a.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             remote, 3, access, 0, 0},
                         &to),
        NA_PLUGIN_OK);
    unsigned char bytes[256];
    uint64_t size = sizeof(bytes);
    ck_assert_int_eq(
        pair.a.ops->mem_serialize(pair.a.cls, to, bytes, &size), NA_PLUGIN_OK);
    na_plugin_mem *described = pair_deserialize(&pair, bytes, size);
    fill(here, SELF, 3);
    ck_assert_int_eq(
        pair_transfer(&pair, from, described, 0, SELF, true), NA_PLUGIN_OK);
    ck_assert_mem_eq(there + 5000, here, SELF - 5000);
    ck_assert_mem_eq(there, here + SELF - 5000, 4999);
    ck_assert_uint_eq(there[SELF], here[SELF - 1]);
    ck_assert_uint_eq(there[4999], 0);
    memset(here, 0, sizeof(here));
    ck_assert_int_eq(
        pair_transfer(&pair, from, described, 0, SELF, false), NA_PLUGIN_OK);
    ck_assert(is_filled(here, SELF, 3));
    pair.a.ops->mem_remote_free(pair.a.cls, described);
    pair.a.ops->mem_deregister(pair.a.cls, from);
    pair.a.ops->mem_deregister(pair.a.cls, to);
    pair_close(&pair);
}
END_TEST

/* A refusal closes the connection, and may fail the next operation: a permitted
 * get in between keeps each result independent. */
static void
connect_again(
    struct raw_peer *raw, struct node *node, const struct registered *readable)
{
    static unsigned char bytes[LENGTH];
    uint64_t address = read64(readable->description + AT_SEGMENT) - 1;
    uint64_t end = now_ns() + DEADLINE_NS;

    while (raw_peer_transfer(
               raw, node, false, bytes, LENGTH, address, key_of(readable)) != 0)
        ck_assert_msg(now_ns() < end, "what is permitted fails");
    ck_assert(is_filled(bytes, LENGTH, 2));
}

/* A peer that uses libfabric directly is not checked by the plugin: the
 * provider has to refuse it. */
START_TEST(raw_peers_get_no_more_than_a_key_grants)
{
    static struct registered before, readable, writable;
    static unsigned char bytes[LENGTH + 1];
    struct node_options options = provider_options(_i);
    struct raw_peer raw;
    struct node node;

    node_open(&node, &options);
    registered_add(&node, &before, BOTH, 1);
    registered_add(&node, &readable, NA_PLUGIN_MEM_READ, 2);
    registered_add(&node, &writable, NA_PLUGIN_MEM_WRITE, 3);
    raw_peer_open(&raw, &node);
    const uint64_t at = read64(readable.description + AT_SEGMENT) - 1;
    const uint64_t readable_key = key_of(&readable);
    const uint64_t writable_key = key_of(&writable);
    const struct {
        bool put;
        size_t length;
        uint64_t address;
        uint64_t key;
    } tries[] = {
        {true, LENGTH, at, readable_key},
        {true, 1, at, readable_key},
        {false, LENGTH + 1, at, readable_key},
        {false, 1, at + LENGTH, readable_key},
        {false, 1, at - 1, readable_key},
        {false, LENGTH, at, readable_key - 1},
        {false, LENGTH, at, readable_key + 1},
        {true, LENGTH, at, readable_key - 1},
        {true, LENGTH, at, readable_key + 1},
        {false, LENGTH, at, 0},
        {false, LENGTH, at, 1},
        {false, 1, at, writable_key},
        {true, LENGTH, at + 1, writable_key},
        {true, 1, at - 1, writable_key},
    };
    for (uint32_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        connect_again(&raw, &node, &readable);
        fill(bytes, sizeof(bytes), 99);
        ck_assert_msg(raw_peer_transfer(&raw, &node, tries[i].put, bytes,
                          tries[i].length, tries[i].address, tries[i].key) != 0,
            "try %u is permitted", i);
        ck_assert(is_filled(bytes, sizeof(bytes), 99));
        ck_assert(is_filled(before.bytes, LENGTH, 1));
        ck_assert(is_filled(readable.bytes, LENGTH, 2));
        ck_assert(is_filled(writable.bytes, LENGTH, 3));
    }
    connect_again(&raw, &node, &readable);
    ck_assert_int_eq(
        raw_peer_transfer(&raw, &node, true, bytes, LENGTH, at, writable_key),
        0);
    ck_assert(is_filled(writable.bytes, LENGTH, 99));
    raw_peer_close(&raw);
    registered_remove(&node, &before);
    registered_remove(&node, &readable);
    registered_remove(&node, &writable);
    node_close(&node);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("access");

    warm_up();
    tcase_add_loop_test(cases, keys_near_a_known_one_are_refused, 0, FORGED);
    tcase_add_loop_test(
        cases, access_is_not_widened_by_a_forged_descriptor, 0, FORGED);
    tcase_add_test(cases, keys_and_access_are_checked_for_self);
    tcase_add_test(cases, descriptions_and_ranges_out_of_bounds_are_refused);
    tcase_add_loop_test(cases, truncated_descriptions_are_refused, 0, 2);
    tcase_add_test(cases, transfers_to_self_move_every_byte);
    tcase_add_loop_test(
        cases, raw_peers_get_no_more_than_a_key_grants, 0, STRANGE);
    return run_tcase("ofi access", cases);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of registrations: random, of internal memory too, and drawn again while
 * they are in use. */
#include "registered.h"

#define MANY 128U /* registrations */

/* Keys cannot be predicted from each other: each bit has both values, and no
 * difference of successive keys occurs twice. */
static void
check_random(const uint64_t keys[MANY], uint32_t bits)
{
    uint64_t ones = 0, zeros = 0;
    uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;

    for (uint32_t i = 0; i < MANY; i++) {
        ones |= keys[i];
        zeros |= ~keys[i];
        for (uint32_t j = 0; j < i; j++)
            ck_assert_msg(keys[i] != keys[j], "two have one key");
        for (uint32_t j = 1; j < i && bits == 64; j++)
            ck_assert_msg(
                keys[i] - keys[i - 1] != keys[j] - keys[j - 1], "they count");
    }
    ck_assert_uint_eq(ones, mask);
    ck_assert_uint_eq(zeros & mask, mask);
}

START_TEST(keys_are_random_in_all_their_bits)
{
    static struct registered memory[MANY];
    struct node_options options = provider_options(_i);
    uint64_t keys[MANY];
    struct node node;

    if (is_refused_shm(&options))
        return;
    node_open(&node, &options);
    for (uint32_t i = 0; i < MANY; i++) {
        registered_add(&node, &memory[i], NA_PLUGIN_MEM_READ, i);
        keys[i] = key_of(&memory[i]);
    }
    check_random(keys, provider_key_bits(_i));
    /* a deregistered key is not reused for the next registration */
    registered_remove(&node, &memory[0]);
    registered_add(&node, &memory[0], NA_PLUGIN_MEM_READ, 0);
    if (provider_key_bits(_i) == 64)
        ck_assert(key_of(&memory[0]) != keys[0]);
    for (uint32_t i = 0; i < MANY; i++)
        registered_remove(&node, &memory[i]);
    node_close(&node);
}
END_TEST

/* The plugin's internal memory, of which peers may read a byte, and its buffers
 * have random keys as well: none is close to that of a registration. */
START_TEST(keys_of_internal_memory_are_random)
{
    static struct registered memory;
    uint64_t keys[MANY];

    awkward_set("NO_DELIVERY", "1");
    awkward_set("MR", "local");
    for (uint32_t i = 0; i < MANY; i++) {
        struct node node;
        node_open(&node,
            &(struct node_options){.protocol = "awkward", .anywhere = true});
        registered_add(&node, &memory, NA_PLUGIN_MEM_READ, i);
        ck_assert_uint_eq(memory.size, AT_READ + 16);
        keys[i] = read64(memory.description + AT_READ + 8);
        ck_assert(keys[i] - key_of(&memory) + 1024 > 2048);
        registered_remove(&node, &memory);
        node_close(&node);
    }
    check_random(keys, 64);
}
END_TEST

/* Peers can read the put-visibility byte, and do nothing else with that
 * memory. */
START_TEST(internal_memory_exposes_one_readable_byte)
{
    static struct registered here, known;
    struct pair pair;

    awkward_set("NO_DELIVERY", "1");
    awkward_set("MR", _i == 0 ? "virtual" : "local,virtual");
    pair_open(&pair);
    registered_add(&pair.a, &here, BOTH, 99);
    registered_add(&pair.b, &known, NA_PLUGIN_MEM_WRITE, 1);
    /* the plugin's byte in place of the segment */
    const uint64_t at = read64(known.description + AT_READ);
    write64(
        known.description + AT_KEY, read64(known.description + AT_READ + 8));
    /* this provider does not report refused puts: the last get shows them */
    const struct {
        uint64_t address;
        uint64_t length;
        bool put;
        bool fits;
    } tries[] = {{at, 1, false, true}, {at, 2, false, false},
        {at + 1, 1, false, false}, {at + 2048, 1, false, false},
        {at, 1, true, true}, {at, 1, false, true}};
    for (uint32_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        known.description[AT_ACCESS] = BOTH;
        write64(known.description + AT_SEGMENT, tries[i].address + 1);
        write64(known.description + AT_SEGMENT + 8, tries[i].length);
        here.bytes[0] = 99;
        na_plugin_mem *forged =
            pair_deserialize(&pair, known.description, known.size);
        int32_t status = pair_transfer(
            &pair, here.mem, forged, 0, tries[i].length, tries[i].put);
        ck_assert_msg((status == NA_PLUGIN_OK) == tries[i].fits,
            "try %u ends with %d", i, status);
        pair.a.ops->mem_remote_free(pair.a.cls, forged);
    }
    ck_assert_uint_eq(here.bytes[0], 0);
    registered_remove(&pair.a, &here);
    registered_remove(&pair.b, &known);
    pair_close(&pair);
}
END_TEST

/* With 256 possible keys: each free one is found; when there is none,
 * registering fails, and works again once one is free. */
START_TEST(keys_in_use_are_drawn_again)
{
    static struct registered memory[256];
    na_plugin_segment segment = {memory[255].bytes, LENGTH};
    bool seen[256] = {false};
    struct node node;
    uint32_t count = 0;

    awkward_set("KEY_BYTES", "1");
    node_open(
        &node, &(struct node_options){.protocol = "awkward", .anywhere = true});
    for (; count < 255; count++) {
        registered_add(&node, &memory[count], BOTH, count);
        ck_assert_uint_lt(key_of(&memory[count]), 256);
        ck_assert(!seen[key_of(&memory[count])]);
        seen[key_of(&memory[count])] = true;
    }
    registered_add(&node, &memory[count++], BOTH, 255);
    ck_assert_uint_eq(node.errors, 0);
    na_plugin_mem *more = NULL;
    ck_assert_int_lt(node.ops->mem_register(node.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, BOTH, 0, 0},
                         &more),
        0);
    ck_assert_uint_eq(node.errors, 1);
    registered_remove(&node, &memory[7]);
    registered_add(&node, &memory[7], BOTH, 7);
    for (uint32_t i = 0; i < count; i++)
        registered_remove(&node, &memory[i]);
    node_close(&node);
}
END_TEST

/* A provider that offers to choose keys is not asked to. */
START_TEST(keys_are_chosen_by_the_plugin_if_the_provider_permits)
{
    struct node node;

    awkward_set("OWN_KEYS", "1");
    node_open(
        &node, &(struct node_options){.protocol = "awkward", .anywhere = true});
    ck_assert_str_eq(node_text(&node, "registration_modes"), "none");
    node_close(&node);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("keys");

    warm_up();
    tcase_add_loop_test(cases, keys_are_random_in_all_their_bits, 0, PROVIDERS);
    tcase_add_test(cases, keys_of_internal_memory_are_random);
    tcase_add_loop_test(cases, internal_memory_exposes_one_readable_byte, 0, 2);
    tcase_add_test(cases, keys_in_use_are_drawn_again);
    tcase_add_test(
        cases, keys_are_chosen_by_the_plugin_if_the_provider_permits);
    return run_tcase("ofi keys", cases);
}

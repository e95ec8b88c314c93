/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys and access of registrations: a serialized registration gives access to
 * what it describes, with the registered access, and to nothing else, whatever
 * is done to its bytes. */
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "raw_peer.h"

#define LENGTH 4096U    /* bytes of each registration */
#define MANY 128U       /* registrations */
#define SELF (3U << 20) /* bytes: more than are copied at once */
#define BOTH (NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE)

/* Offsets in a serialized registration. */
#define AT_ACCESS 1U
#define AT_SEGMENT 24U
#define AT_KEY (AT_SEGMENT + 16U)
#define AT_READ 48U /* of one segment: the byte for put visibility */

static const struct {
    const char *protocol;
    const char *key_bytes;
    uint32_t bits;
} providers[] = {
    {"tcp", NULL, 64},
    {"tcp;ofi_rxm", NULL, 64},
    {"sockets", NULL, 64},
    {"shm", NULL, 64},
    {"udp", NULL, 64},
    {"awkward", "8", 64},
    {"awkward", "4", 32},
    {"awkward", "2", 16},
};
#define PROVIDERS ((int) (sizeof(providers) / sizeof(providers[0])))
#define FORGED 4  /* attempts over a provider whose owner reports refusals */
#define STRANGE 3 /* attempts over TCP */

/* A registration of a node, and its serialized form. */
struct registered {
    unsigned char bytes[LENGTH];
    na_plugin_mem *mem;
    unsigned char description[256];
    uint64_t size;
};

static uint64_t
read64(const unsigned char *bytes)
{
    uint64_t value = 0;

    for (uint32_t i = 0; i < 8; i++)
        value |= (uint64_t) bytes[i] << 8 * i;
    return value;
}

static void
write64(unsigned char *bytes, uint64_t value)
{
    for (uint32_t i = 0; i < 8; i++)
        bytes[i] = (unsigned char) (value >> 8 * i);
}

static uint64_t
key_of(const struct registered *memory)
{
    return read64(memory->description + AT_KEY);
}

static void
enter(struct node *node, struct registered *memory, uint32_t access,
    uint32_t seed)
{
    const na_plugin_segment segment = {memory->bytes, LENGTH};

    fill(memory->bytes, LENGTH, seed);
    ck_assert_int_eq(node->ops->mem_register(node->cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, access, 0, 0},
                         &memory->mem),
        NA_PLUGIN_OK);
    memory->size = sizeof(memory->description);
    ck_assert_int_eq(node->ops->mem_serialize(node->cls, memory->mem,
                         memory->description, &memory->size),
        NA_PLUGIN_OK);
}

static void
leave(struct node *node, struct registered *memory)
{
    node->ops->mem_deregister(node->cls, memory->mem);
}

/* a's remote memory for some bytes. */
static na_plugin_mem *
describe(struct pair *pair, const unsigned char *bytes, uint64_t size)
{
    na_plugin_mem *description = NULL;

    ck_assert_int_eq(
        pair->a.ops->mem_deserialize(pair->a.cls, bytes, size, &description),
        NA_PLUGIN_OK);
    return description;
}

static bool
is_refused_shm(const struct node_options *options)
{
    return strcmp(options->protocol, "shm") == 0 && is_refused(options);
}

static struct node_options
options_of(int provider)
{
    const char *protocol = providers[provider].protocol;
    bool named =
        strcmp(protocol, "shm") == 0 || strcmp(protocol, "awkward") == 0;

    if (providers[provider].key_bytes != NULL)
        awkward_set("KEY_BYTES", providers[provider].key_bytes);
    return (struct node_options){.protocol = protocol, .anywhere = named};
}

/* RANDOM KEYS */

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
    struct node_options options = options_of(_i);
    uint64_t keys[MANY];
    struct node node;

    if (is_refused_shm(&options))
        return;
    node_open(&node, &options);
    for (uint32_t i = 0; i < MANY; i++) {
        enter(&node, &memory[i], NA_PLUGIN_MEM_READ, i);
        keys[i] = key_of(&memory[i]);
    }
    check_random(keys, providers[_i].bits);
    /* a deregistered key is not reused for the next registration */
    leave(&node, &memory[0]);
    enter(&node, &memory[0], NA_PLUGIN_MEM_READ, 0);
    if (providers[_i].bits == 64)
        ck_assert(key_of(&memory[0]) != keys[0]);
    for (uint32_t i = 0; i < MANY; i++)
        leave(&node, &memory[i]);
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
        enter(&node, &memory, NA_PLUGIN_MEM_READ, i);
        ck_assert_uint_eq(memory.size, AT_READ + 16);
        keys[i] = read64(memory.description + AT_READ + 8);
        ck_assert(keys[i] - key_of(&memory) + 1024 > 2048);
        leave(&node, &memory);
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
    enter(&pair.a, &here, BOTH, 99);
    enter(&pair.b, &known, NA_PLUGIN_MEM_WRITE, 1);
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
        na_plugin_mem *forged = describe(&pair, known.description, known.size);
        int32_t status = pair_transfer(
            &pair, here.mem, forged, 0, tries[i].length, tries[i].put);
        ck_assert_msg((status == NA_PLUGIN_OK) == tries[i].fits,
            "try %u ends with %d", i, status);
        pair.a.ops->mem_remote_free(pair.a.cls, forged);
    }
    ck_assert_uint_eq(here.bytes[0], 0);
    leave(&pair.a, &here);
    leave(&pair.b, &known);
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
        enter(&node, &memory[count], BOTH, count);
        ck_assert_uint_lt(key_of(&memory[count]), 256);
        ck_assert(!seen[key_of(&memory[count])]);
        seen[key_of(&memory[count])] = true;
    }
    enter(&node, &memory[count++], BOTH, 255);
    ck_assert_uint_eq(node.errors, 0);
    na_plugin_mem *more = NULL;
    ck_assert_int_lt(node.ops->mem_register(node.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, BOTH, 0, 0},
                         &more),
        0);
    ck_assert_uint_eq(node.errors, 1);
    leave(&node, &memory[7]);
    enter(&node, &memory[7], BOTH, 7);
    for (uint32_t i = 0; i < count; i++)
        leave(&node, &memory[i]);
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

/* FORGED BY A CLASS */

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
    na_plugin_mem *forged = describe(pair, bytes, known->size);
    ck_assert_int_lt(pair_transfer(pair, here->mem, forged, 0, LENGTH, put), 0);
    pair->a.ops->mem_remote_free(pair->a.cls, forged);
    ck_assert(is_filled(here->bytes, LENGTH, 99));
}

/* Registrations of another memory, made before and after a known one. */
START_TEST(keys_near_a_known_one_are_refused)
{
    static struct registered here, before, known, behind;
    struct node_options options = options_of(_i);
    struct pair pair;

    if (is_refused_shm(&options))
        return;
    pair_open_as(&pair, &options);
    enter(&pair.a, &here, BOTH, 99);
    enter(&pair.b, &before, BOTH, 1);
    enter(&pair.b, &known, NA_PLUGIN_MEM_READ, 2);
    enter(&pair.b, &behind, BOTH, 3);
    for (uint32_t i = 1; i <= 2; i++) {
        try_forged(&pair, &here, &known, key_of(&known) - i, BOTH, false);
        try_forged(&pair, &here, &known, key_of(&known) + i, BOTH, false);
        try_forged(&pair, &here, &known, key_of(&known) - i, BOTH, true);
        try_forged(&pair, &here, &known, key_of(&known) + i, BOTH, true);
    }
    ck_assert(is_filled(before.bytes, LENGTH, 1));
    ck_assert(is_filled(behind.bytes, LENGTH, 3));
    /* the original still works */
    na_plugin_mem *remote = describe(&pair, known.description, known.size);
    ck_assert_int_eq(
        pair_transfer(&pair, here.mem, remote, 0, LENGTH, false), NA_PLUGIN_OK);
    ck_assert(is_filled(here.bytes, LENGTH, 2));
    pair.a.ops->mem_remote_free(pair.a.cls, remote);
    leave(&pair.a, &here);
    leave(&pair.b, &before);
    leave(&pair.b, &known);
    leave(&pair.b, &behind);
    pair_close(&pair);
}
END_TEST

/* Access is checked against the owner's registration, not against the
 * serialized one. */
START_TEST(access_is_not_widened_by_a_forged_descriptor)
{
    static struct registered here, readable, writable;
    struct node_options options = options_of(_i);
    struct pair pair;

    if (is_refused_shm(&options))
        return;
    pair_open_as(&pair, &options);
    enter(&pair.a, &here, BOTH, 99);
    enter(&pair.b, &readable, NA_PLUGIN_MEM_READ, 1);
    enter(&pair.b, &writable, NA_PLUGIN_MEM_WRITE, 2);
    try_forged(&pair, &here, &readable, key_of(&readable), BOTH, true);
    try_forged(&pair, &here, &writable, key_of(&writable), BOTH, false);
    try_forged(
        &pair, &here, &readable, key_of(&readable), NA_PLUGIN_MEM_WRITE, true);
    try_forged(
        &pair, &here, &writable, key_of(&writable), NA_PLUGIN_MEM_READ, false);
    ck_assert(is_filled(readable.bytes, LENGTH, 1));
    ck_assert(is_filled(writable.bytes, LENGTH, 2));
    na_plugin_mem *remote =
        describe(&pair, writable.description, writable.size);
    ck_assert_int_eq(
        pair_transfer(&pair, here.mem, remote, 0, LENGTH, true), NA_PLUGIN_OK);
    ck_assert(is_filled(writable.bytes, LENGTH, 99));
    pair.a.ops->mem_remote_free(pair.a.cls, remote);
    leave(&pair.a, &here);
    leave(&pair.b, &readable);
    leave(&pair.b, &writable);
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
    enter(&pair.a, &here, BOTH, 99);
    enter(&pair.a, &known, NA_PLUGIN_MEM_READ, 1);
    enter(&pair.a, &other, BOTH, 2);
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
    na_plugin_mem *remote = describe(&pair, known.description, known.size);
    ck_assert_int_eq(pair_transfer(&pair, here.mem, remote, 0, LENGTH, true),
        NA_PLUGIN_E_PERMISSION);
    ck_assert(is_filled(known.bytes, LENGTH, 1));
    ck_assert_int_eq(
        pair_transfer(&pair, here.mem, remote, 0, LENGTH, false), NA_PLUGIN_OK);
    ck_assert(is_filled(here.bytes, LENGTH, 1));
    pair.a.ops->mem_remote_free(pair.a.cls, remote);
    leave(&pair.a, &here);
    leave(&pair.a, &known);
    leave(&pair.a, &other);
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
    enter(&pair.a, &here, BOTH, 99);
    enter(&pair.b, &there, BOTH, 1);
    na_plugin_mem *remote = describe(&pair, there.description, there.size);
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
    leave(&pair.a, &here);
    leave(&pair.b, &there);
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
    enter(&node, &memory, BOTH, 1);
    ck_assert_uint_eq(memory.size, _i == 0 ? AT_READ : AT_READ + 16);
    for (uint64_t size = 0; size < memory.size; size++)
        ck_assert_int_eq(node.ops->mem_deserialize(
                             node.cls, memory.description, size, &description),
            NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(node.ops->mem_deserialize(node.cls, memory.description,
                         memory.size, &description),
        NA_PLUGIN_OK);
    node.ops->mem_remote_free(node.cls, description);
    leave(&node, &memory);
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
    na_plugin_mem *described = describe(&pair, bytes, size);
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

/* FORGED BELOW THE PLUGIN */

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
    struct node_options options = options_of(_i);
    struct raw_peer raw;
    struct node node;

    node_open(&node, &options);
    enter(&node, &before, BOTH, 1);
    enter(&node, &readable, NA_PLUGIN_MEM_READ, 2);
    enter(&node, &writable, NA_PLUGIN_MEM_WRITE, 3);
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
    leave(&node, &before);
    leave(&node, &readable);
    leave(&node, &writable);
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
    tcase_add_loop_test(cases, keys_near_a_known_one_are_refused, 0, FORGED);
    tcase_add_loop_test(
        cases, access_is_not_widened_by_a_forged_descriptor, 0, FORGED);
    tcase_add_test(cases, keys_and_access_are_checked_for_self);
    tcase_add_test(cases, descriptions_and_ranges_out_of_bounds_are_refused);
    tcase_add_loop_test(cases, truncated_descriptions_are_refused, 0, 2);
    tcase_add_test(cases, transfers_to_self_move_every_byte);
    tcase_add_loop_test(
        cases, raw_peers_get_no_more_than_a_key_grants, 0, STRANGE);
    return run_case("ofi keys", cases);
}

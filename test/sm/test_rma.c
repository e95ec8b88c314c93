/* SPDX-License-Identifier: BSD-3-Clause */
/* Put and get in all shapes, between processes and to self, and invalid
 * ones. */
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

#define SPACE (4U << 20)
#define BYTES 20000

/* A registration as sent to another process. */
struct parcel {
    char text[TEXT];
    uint64_t size;
    unsigned char bytes[BYTES];
};

/* A class in another process that exposes SPACE bytes, split by arg, in memory
 * shared with this process. */
struct shared {
    uint32_t segments;
    uint32_t access;
    struct parcel parcel;
    unsigned char space[SPACE];
};

static void
pattern(unsigned char *bytes, uint64_t length, uint32_t seed)
{
    uint32_t state = seed * 2654435761U + 1;
    for (uint64_t i = 0; i < length; i++) {
        state = state * 1664525U + 1013904223U;
        bytes[i] = (unsigned char) (state >> 24);
    }
}

/* Registers memory as segments of different lengths, in reverse order. */
static na_plugin_mem *
register_cut(struct node *node, unsigned char *memory, uint64_t length,
    uint32_t count, uint32_t access)
{
    na_plugin_segment *segments = calloc(count, sizeof(*segments));
    uint64_t unit = length / (2 * (uint64_t) count);
    uint64_t end = length;
    na_plugin_mem *mem;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t part = i + 1 == count ? end : unit + (i % 3) * unit / 2;
        end -= part;
        segments[i] = (na_plugin_segment){.base = memory + end, .length = part};
    }
    ck_assert_int_eq(node->ops->mem_register(node->cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             segments, count, access, 0, 0},
                         &mem),
        NA_PLUGIN_OK);
    memset(segments, 0xFF, count * sizeof(*segments));
    free(segments);
    return mem;
}

/* The byte at an offset of such a registration. */
static void
unroll(unsigned char *out, const unsigned char *memory, uint64_t length,
    uint32_t count)
{
    uint64_t unit = length / (2 * (uint64_t) count);
    uint64_t end = length;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t part = i + 1 == count ? end : unit + (i % 3) * unit / 2;
        end -= part;
        memcpy(out, memory + end, part);
        out += part;
    }
}

static void
pack(struct node *node, na_plugin_mem *mem, struct parcel *parcel)
{
    uint64_t need = 0;
    ck_assert_int_eq(node->ops->mem_serialize(node->cls, mem, NULL, &need), 0);
    ck_assert_uint_le(need, sizeof(parcel->bytes));
    parcel->size = need - 1;
    ck_assert_int_eq(
        node->ops->mem_serialize(node->cls, mem, parcel->bytes, &parcel->size),
        NA_PLUGIN_E_OVERFLOW);
    parcel->size = sizeof(parcel->bytes);
    ck_assert_int_eq(
        node->ops->mem_serialize(node->cls, mem, parcel->bytes, &parcel->size),
        NA_PLUGIN_OK);
    ck_assert_uint_eq(parcel->size, need);
    self_string(node, parcel->text);
}

/* Owns the memory; polls until a peer has connected, then no more unless RMA is
 * emulated. */
static int
own_memory(const struct parent *parent, const struct node_options *options,
    bool emulates)
{
    static struct node node;
    struct shared *shared = *(struct shared *const *) parent->arg;
    node_open(&node, options);
    na_plugin_mem *mem = register_cut(
        &node, shared->space, SPACE, shared->segments, shared->access);
    pack(&node, mem, &shared->parcel);
    send_line(parent->out, "ready");
    struct pollfd end = {.fd = parent->in, .events = POLLIN};
    while ((emulates || node_counter(&node, "peers_connected") == 0) &&
           poll(&end, 1, 0) == 0)
        pump();
    expect_line(parent->in, "end");
    pump();
    node.ops->mem_deregister(node.cls, mem);
    node_close(&node);
    return 0;
}

static int
owner(const struct parent *parent)
{
    return own_memory(parent, NULL, !kernel_copies());
}

static struct shared *
share(uint32_t segments, uint32_t access)
{
    struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    shared->segments = segments;
    shared->access = access;
    return shared;
}

static na_plugin_mem *
unpack(struct node *node, const struct parcel *parcel)
{
    na_plugin_mem *mem;
    ck_assert_int_eq(node->ops->mem_deserialize(
                         node->cls, parcel->bytes, parcel->size, &mem),
        NA_PLUGIN_OK);
    return mem;
}

static int32_t
transfer(struct node *node, bool put, na_plugin_mem *local, uint64_t here,
    na_plugin_mem *remote, uint64_t there, uint64_t length,
    na_plugin_addr *peer)
{
    void *op = op_new(node);
    int32_t ret = put ? node->ops->put(node->ctx[0], op, local, here, remote,
                            there, length, peer, 0, 0)
                      : node->ops->get(node->ctx[0], op, local, here, remote,
                            there, length, peer, 0, 0);
    if (ret == NA_PLUGIN_PENDING)
        ret = await_op(node, 0, op).status;
    free(op);
    return ret == NA_PLUGIN_DONE ? NA_PLUGIN_OK : ret;
}

/* One shape: so many segments at either side. */
static void
shape(uint32_t here_segments, uint32_t there_segments)
{
    static const uint64_t lengths[] = {0, 1, 100, 4096, 65536, 262144, 262145,
        (1 << 20) - 1, (2 << 20) + 17, SPACE - 1000};
    static struct node node;
    static unsigned char memory[SPACE];
    static unsigned char here_flat[SPACE];
    static unsigned char there_flat[SPACE];
    struct shared *shared = share(there_segments, 3);
    struct child child = child_start(owner, &shared);
    expect_line(child.in, "ready");
    node_open(&node, NULL);
    na_plugin_addr *peer = lookup(&node, shared->parcel.text);
    na_plugin_mem *remote = unpack(&node, &shared->parcel);
    na_plugin_mem *local = register_cut(&node, memory, SPACE, here_segments, 3);

    for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        uint64_t length = lengths[i];
        uint64_t here = 333 + i;
        uint64_t there = 999 - i;
        pattern(memory, SPACE, 2 * i);
        pattern(shared->space, SPACE, 2 * i + 1);
        bool put = i % 2 == 0;
        unroll(here_flat, memory, SPACE, here_segments);
        unroll(there_flat, shared->space, SPACE, there_segments);
        if (put)
            memcpy(there_flat + there, here_flat + here, length);
        else
            memcpy(here_flat + here, there_flat + there, length);
        ck_assert_int_eq(
            transfer(&node, put, local, here, remote, there, length, peer), 0);
        /* everything else is unchanged */
        static unsigned char now[SPACE];
        unroll(now, memory, SPACE, here_segments);
        ck_assert_int_eq(memcmp(now, here_flat, SPACE), 0);
        unroll(now, shared->space, SPACE, there_segments);
        ck_assert_int_eq(memcmp(now, there_flat, SPACE), 0);
    }
    send_line(child.out, "end");
    child_join(&child);
    node.ops->mem_deregister(node.cls, local);
    node.ops->mem_remote_free(node.cls, remote);
    node.ops->addr_free(node.cls, peer);
    node_close(&node);
    munmap(shared, sizeof(*shared));
}

START_TEST(rma_one_to_one)
{
    shape(1, 1);
}
END_TEST

START_TEST(rma_many_to_one)
{
    shape(1000, 1);
}
END_TEST

START_TEST(rma_one_to_many)
{
    shape(1, 1024);
}
END_TEST

START_TEST(rma_many_to_many)
{
    shape(777, 1024);
}
END_TEST

START_TEST(rma_to_self_is_a_copy)
{
    static struct node node;
    static unsigned char from[SPACE];
    static unsigned char to[SPACE];
    static unsigned char flat[SPACE];
    static unsigned char now[SPACE];
    struct parcel parcel;
    node_open(&node, NULL);
    na_plugin_mem *source = register_cut(&node, from, SPACE, 100, 1);
    na_plugin_mem *sink = register_cut(&node, to, SPACE, 33, 2);
    pack(&node, source, &parcel);
    na_plugin_mem *remote = unpack(&node, &parcel);
    na_plugin_addr *self = lookup(&node, parcel.text);

    pattern(from, SPACE, 4);
    ck_assert_int_eq(transfer(&node, false, sink, 5, remote, 7, 1000, self), 0);
    ck_assert_int_eq(
        transfer(&node, false, sink, 0, remote, 0, SPACE, self), 0);
    unroll(flat, from, SPACE, 100);
    unroll(now, to, SPACE, 33);
    ck_assert_int_eq(memcmp(flat, now, SPACE), 0);

    /* a serialized form that names other memory of this process is rejected */
    parcel.bytes[24] ^= 0x40;
    na_plugin_mem *forged = unpack(&node, &parcel);
    ck_assert_int_eq(transfer(&node, false, sink, 0, forged, 0, 10, self),
        NA_PLUGIN_E_INVALID_ARG);
    /* so is the form of a deregistered one */
    node.ops->mem_deregister(node.cls, source);
    ck_assert_int_eq(transfer(&node, false, sink, 0, remote, 0, 10, self),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_uint_eq(node_warnings(&node), 2);
    node.ops->mem_remote_free(node.cls, forged);
    node.ops->mem_remote_free(node.cls, remote);
    node.ops->mem_deregister(node.cls, sink);
    node.ops->addr_free(node.cls, self);
    node_close(&node);
}
END_TEST

START_TEST(rma_range_and_permission_are_checked)
{
    static struct node node;
    static unsigned char memory[4096];
    struct shared *shared = share(2, NA_PLUGIN_MEM_READ);
    struct child child = child_start(owner, &shared);
    expect_line(child.in, "ready");
    node_open(&node, NULL);
    na_plugin_addr *peer = lookup(&node, shared->parcel.text);
    na_plugin_mem *remote = unpack(&node, &shared->parcel);
    na_plugin_mem *local = register_cut(&node, memory, 4096, 3, 3);
    na_plugin_mem *read_only = register_cut(&node, memory, 4096, 1, 1);

    ck_assert_int_eq(transfer(&node, true, local, 0, remote, 0, 10, peer),
        NA_PLUGIN_E_PERMISSION);
    ck_assert_int_eq(transfer(&node, false, read_only, 0, remote, 0, 10, peer),
        NA_PLUGIN_E_PERMISSION);
    static const uint64_t bad[][3] = {{4096, 0, 1}, {0, SPACE, 1}, {0, 0, 4097},
        {4000, 0, 97}, {0, SPACE - 10, 11}, {UINT64_MAX, 0, 1},
        {0, UINT64_MAX, 1}, {0, 0, UINT64_MAX}, {1, 1, UINT64_MAX},
        {UINT64_MAX, 0, 0}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_int_eq(transfer(&node, false, local, bad[i][0], remote,
                             bad[i][1], bad[i][2], peer),
            NA_PLUGIN_E_INVALID_ARG);
    ck_assert_uint_eq(node_warnings(&node), 2 + sizeof(bad) / sizeof(bad[0]));
    ck_assert_int_eq(
        transfer(&node, false, local, 4096, remote, SPACE, 0, peer), 0);
    ck_assert_int_eq(
        transfer(&node, false, local, 0, remote, SPACE - 4096, 4096, peer), 0);
    send_line(child.out, "end");
    child_join(&child);
    node.ops->mem_deregister(node.cls, local);
    node.ops->mem_deregister(node.cls, read_only);
    node.ops->mem_remote_free(node.cls, remote);
    node.ops->addr_free(node.cls, peer);
    node_close(&node);
}
END_TEST

START_TEST(rma_registration_is_checked)
{
    struct node node;
    static unsigned char memory[64];
    static na_plugin_segment many[1025];
    na_plugin_mem *mem = NULL;
    node_open(&node, NULL);
    for (int i = 0; i < 1025; i++)
        many[i] = (na_plugin_segment){.base = memory, .length = 1};
    na_plugin_segment empty = {.base = memory, .length = 0};
    na_plugin_segment wraps = {.base = memory, .length = UINT64_MAX};
    na_plugin_segment null = {.base = NULL, .length = 1};

    const struct {
        const na_plugin_segment *segments;
        uint64_t count;
        uint32_t access;
        uint32_t type;
        int32_t code;
    } bad[] = {{many, 1025, 1, 0, NA_PLUGIN_E_INVALID_ARG},
        {many, 0, 1, 0, NA_PLUGIN_E_INVALID_ARG},
        {many, 1, 0, 0, NA_PLUGIN_E_INVALID_ARG},
        {many, 1, 4, 0, NA_PLUGIN_E_INVALID_ARG},
        {&empty, 1, 1, 0, NA_PLUGIN_E_INVALID_ARG},
        {&wraps, 1, 1, 0, NA_PLUGIN_E_INVALID_ARG},
        {&null, 1, 1, 0, NA_PLUGIN_E_INVALID_ARG},
        {many, 1, 1, 1, NA_PLUGIN_E_OPNOTSUPPORTED}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_int_eq(node.ops->mem_register(node.cls,
                             &(na_plugin_mem_info){sizeof(na_plugin_mem_info),
                                 0, bad[i].segments, bad[i].count,
                                 bad[i].access, bad[i].type, 0},
                             &mem),
            bad[i].code);
    ck_assert_ptr_null(mem);
    ck_assert_uint_eq(node_warnings(&node), sizeof(bad) / sizeof(bad[0]));
    ck_assert_int_eq(node.ops->mem_register(node.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             many, 1024, 1, 0, 0},
                         &mem),
        0);
    node.ops->mem_deregister(node.cls, mem);
    node_close(&node);
}
END_TEST

START_TEST(rma_serialized_form_is_checked)
{
    struct node node;
    static unsigned char memory[64];
    static struct parcel parcel;
    na_plugin_mem *none = NULL;
    node_open(&node, NULL);
    na_plugin_mem *mem = register_cut(&node, memory, 64, 3, 1);
    pack(&node, mem, &parcel);

    for (uint64_t cut = 0; cut < parcel.size; cut++) {
        /* allocated at exact size, so that reading beyond it is detected */
        unsigned char *bytes = malloc(cut + (cut == 0));
        memcpy(bytes, parcel.bytes, cut);
        ck_assert_int_eq(node.ops->mem_deserialize(node.cls, bytes, cut, &none),
            NA_PLUGIN_E_INVALID_ARG);
        free(bytes);
    }
    struct {
        size_t at;
        unsigned char value;
        int32_t code;
    } const bad[] = {{0, 1, NA_PLUGIN_E_PROTOCOL_ERROR},
        {1, 0, NA_PLUGIN_E_INVALID_ARG}, {1, 4, NA_PLUGIN_E_INVALID_ARG},
        {2, 0, NA_PLUGIN_E_INVALID_ARG}, {3, 8, NA_PLUGIN_E_INVALID_ARG},
        {4, 3, NA_PLUGIN_E_INVALID_ARG}, {4, 1, NA_PLUGIN_E_INVALID_ARG},
        {24 + 15, 0xFF, NA_PLUGIN_E_INVALID_ARG},
        {24 + 16 + 15, 0x80, NA_PLUGIN_E_INVALID_ARG}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct parcel copy = parcel;
        copy.bytes[bad[i].at] = bad[i].value;
        ck_assert_int_eq(
            node.ops->mem_deserialize(node.cls, copy.bytes, copy.size, &none),
            bad[i].code);
    }
    ck_assert_ptr_null(none);
    node_warnings(&node);
    node.ops->mem_deregister(node.cls, mem);
    node_close(&node);
}
END_TEST

/* Memory that the owner has unmapped: an error, no crash. */
START_TEST(rma_unmapped_memory_ends_with_fault)
{
    static struct node a, b;
    static unsigned char memory[8192];
    struct parcel parcel;
    unsigned char *hole = mmap(
        NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    node_open(&a, NULL);
    node_open(&b, NULL);
    na_plugin_mem *owned = register_cut(&b, hole, 8192, 1, 3);
    pack(&b, owned, &parcel);
    na_plugin_mem *remote = unpack(&a, &parcel);
    na_plugin_mem *local = register_cut(&a, memory, 8192, 1, 3);
    na_plugin_addr *peer = lookup(&a, parcel.text);
    ck_assert_int_eq(transfer(&a, true, local, 0, remote, 0, 8192, peer), 0);
    ck_assert_int_eq(munmap(hole + 4096, 4096), 0);
    ck_assert_int_eq(
        transfer(&a, true, local, 0, remote, 0, 8192, peer), NA_PLUGIN_E_FAULT);
    ck_assert_int_eq(transfer(&a, true, local, 0, remote, 0, 4096, peer), 0);
    ck_assert_uint_eq(node_warnings(&a), 1);
    a.ops->mem_deregister(a.cls, local);
    a.ops->mem_remote_free(a.cls, remote);
    b.ops->mem_deregister(b.cls, owned);
    a.ops->addr_free(a.cls, peer);
    node_close(&a);
    node_close(&b);
    munmap(hole, 4096);
}
END_TEST

/* Polls until a class has so many peers. */
static void
await_connections(struct node *node, uint64_t count)
{
    uint64_t deadline = now_ns() + UINT64_C(20000000000);

    while (node_counter(node, "peers_connected") != count) {
        ck_assert_msg(now_ns() < deadline, "it does not notice");
        pump();
    }
}

/* A successor with the same name has other data at these addresses. */
START_TEST(rma_registration_of_predecessor_is_rejected)
{
    static struct node a, b;
    static unsigned char memory[4096];
    static unsigned char here[4096];
    char buffer[8];
    struct parcel parcel;
    struct node_options named = {.name = own_name("throne")};
    node_open(&a, NULL);
    node_open(&b, &named);
    na_plugin_mem *owned = register_cut(&b, memory, 4096, 1, 3);
    pack(&b, owned, &parcel);
    na_plugin_mem *remote = unpack(&a, &parcel);
    na_plugin_mem *local = register_cut(&a, here, 4096, 1, 3);
    na_plugin_addr *peer = lookup(&a, own_address("throne"));
    ck_assert_int_eq(transfer(&a, true, local, 0, remote, 0, 16, peer), 0);
    b.ops->mem_deregister(b.cls, owned);
    node_close(&b);

    await_connections(&a, 0);
    node_open(&b, &named);
    /* lets a accept the connection */
    void *op = post_unexpected(&b, buffer, sizeof(buffer));
    ck_assert_int_eq(send_unexpected(&a, "x", 1, peer, 1), 0);
    na_plugin_event event = await_message(&b, 0, op, 1, 1, true);
    await_connections(&a, 1);
    ck_assert_int_eq(transfer(&a, true, local, 0, remote, 0, 16, peer),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_uint_eq(node_warnings(&a), 1);
    b.ops->addr_free(b.cls, event.source);
    a.ops->mem_deregister(a.cls, local);
    a.ops->mem_remote_free(a.cls, remote);
    a.ops->addr_free(a.cls, peer);
    free(op);
    node_close(&a);
    node_close(&b);
}
END_TEST

/* Classes of different users that admit each other. */
static const struct node_options any_user = {.name = "any/"};

static int
owner_of_other_user(const struct parent *parent)
{
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return 1;
    return own_memory(parent, &any_user, true);
}

START_TEST(rma_of_other_user_is_copied_by_owner)
{
    static struct node node;
    static unsigned char memory[SPACE];
    struct shared *shared = share(1, 3);
    /* both change from root to different users */
    struct child child = child_start(owner_of_other_user, &shared);
    expect_line(child.in, "ready");
    ck_assert_int_eq(setgid(65533), 0);
    ck_assert_int_eq(setuid(65533), 0);
    node_open(&node, &any_user);
    na_plugin_addr *peer = lookup(&node, shared->parcel.text);
    na_plugin_mem *remote = unpack(&node, &shared->parcel);
    na_plugin_mem *local = register_cut(&node, memory, SPACE, 1, 3);
    /* small ones, which elsewhere complete in the submission, and large ones */
    for (int i = 0; i < 20; i++) {
        uint64_t length = i % 2 == 0 ? 16 : SPACE - 8;
        uint64_t at = (uint64_t) i % 8;
        pattern(memory, SPACE, (uint32_t) i);
        ck_assert_int_eq(
            transfer(&node, true, local, at, remote, at, length, peer),
            NA_PLUGIN_OK);
        ck_assert_int_eq(memcmp(memory + at, shared->space + at, length), 0);
        memset(memory, 0, SPACE);
        ck_assert_int_eq(
            transfer(&node, false, local, at, remote, at, length, peer),
            NA_PLUGIN_OK);
        ck_assert_int_eq(memcmp(memory + at, shared->space + at, length), 0);
    }
    ck_assert_uint_gt(node_counter(&node, "put_bytes"), 0);
    ck_assert_uint_eq(node_counter(&node, "mapped_bytes"), 0);
    send_line(child.out, "end");
    node.ops->mem_deregister(node.cls, local);
    node.ops->mem_remote_free(node.cls, remote);
    node.ops->addr_free(node.cls, peer);
    node_close(&node);
    child_join(&child);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("rma");
    tcase_add_test(cases, rma_one_to_one);
    tcase_add_test(cases, rma_many_to_one);
    tcase_add_test(cases, rma_one_to_many);
    tcase_add_test(cases, rma_many_to_many);
    tcase_add_test(cases, rma_to_self_is_a_copy);
    tcase_add_test(cases, rma_range_and_permission_are_checked);
    tcase_add_test(cases, rma_registration_is_checked);
    tcase_add_test(cases, rma_serialized_form_is_checked);
    if (kernel_copies())
        tcase_add_test(cases, rma_unmapped_memory_ends_with_fault);
    else
        puts("skipped: unmapped_memory needs process_vm_readv, which is "
             "refused");
    tcase_add_test(cases, rma_registration_of_predecessor_is_rejected);
    if (geteuid() != 0)
        puts("skipped: other_user needs root, to become two users");
    else
        tcase_add_test(cases, rma_of_other_user_is_copied_by_owner);
    return run_cases("rma", &cases, 1);
}

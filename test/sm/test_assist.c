/* SPDX-License-Identifier: BSD-3-Clause */
/* Large gets from and puts to memory whose owner polls: both sides copy. The owner
 * is another process, which may be stopped or killed, and the operation may be
 * cancelled: no byte is wrong, and none is written after the operation has ended. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define SPACE ((uint64_t) 20 << 20) /* more than a range */
#define SEGMENTS 300U               /* of the owner's registration */
#define PARCEL 8192U
#define ROUNDS 24U
#define PIECE ((uint64_t) 256 << 10)

/* What the two processes share. */
struct common {
    char name[TEXT];
    const char *setting;
    bool allocates; /* the owner's class allocates what is read */
    uint64_t size;
    unsigned char registration[PARCEL];
    _Atomic uint64_t assisted; /* bytes, counted by the owner */
    unsigned char space[SPACE];
};

static struct common *common;
static struct child child;
static struct node node;
static na_plugin_addr *peer;
static na_plugin_mem *remote;
static na_plugin_mem *local;
static unsigned char *memory;
static bool putting;      /* else getting */
static unsigned char *to; /* what is written: memory, or the owner's */
static unsigned char *from;

static unsigned char
byte_at(uint64_t i)
{
    return (unsigned char) (i * 2654435761U >> 24);
}

static na_plugin_mem *
expose(struct node *owner, unsigned char *base, uint32_t count)
{
    static na_plugin_segment segments[SEGMENTS];
    const na_plugin_mem_info info = {
        sizeof(na_plugin_mem_info), 0, segments, count, 3, 0, 0};
    uint64_t length = SPACE / count;
    na_plugin_mem *mem;

    for (uint32_t i = 0; i < count; i++)
        segments[i] = (na_plugin_segment){.base = base + i * length,
            .length = i + 1 < count ? length : SPACE - i * length};
    ck_assert_int_eq(
        owner->ops->mem_register(owner->cls, &info, &mem), NA_PLUGIN_OK);
    return mem;
}

/* Memory of the class that peers can map, with what the other process expects. */
static unsigned char *
allocate(const na_plugin_mem_alloc *alloc)
{
    void *bytes = NULL;

    ck_assert_int_eq(alloc->alloc(node.cls, SPACE, &bytes), NA_PLUGIN_OK);
    for (uint64_t i = 0; i < SPACE; i++)
        ((unsigned char *) bytes)[i] = byte_at(i);
    return bytes;
}

static int
owner(const struct parent *parent)
{
    const struct node_options options = {
        .setting_key = "sm.assist", .setting_value = common->setting};
    struct pollfd input = {.fd = parent->in, .events = POLLIN};

    node_open(&node, common->setting != NULL ? &options : NULL);
    const na_plugin_mem_alloc *alloc =
        node.ops->extension(node.cls, NA_PLUGIN_MEM_ALLOC_ID);
    unsigned char *own = common->allocates ? allocate(alloc) : NULL;
    na_plugin_mem *mem = own != NULL ? expose(&node, own, 1)
                                     : expose(&node, common->space, SEGMENTS);
    common->size = PARCEL;
    ck_assert_int_eq(node.ops->mem_serialize(
                         node.cls, mem, common->registration, &common->size),
        NA_PLUGIN_OK);
    self_string(&node, common->name);
    send_line(parent->out, "ready");
    while (poll(&input, 1, 0) == 0) {
        for (int i = 0; i < 100; i++)
            pump();
        common->assisted = node_counter(&node, "assisted_bytes");
    }
    expect_line(parent->in, "end");
    node.ops->mem_deregister(node.cls, mem);
    alloc->free(node.cls, own);
    node_close(&node);
    return 0;
}

/* Starts the owner of what is put to or got from. */
static void
begin_at(bool put, bool allocates, const char *setting, uint32_t contexts)
{
    const struct node_options options = {.contexts = contexts};

    common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(common, MAP_FAILED);
    common->setting = setting;
    common->allocates = allocates;
    child = child_start(owner, NULL);
    expect_line(child.in, "ready");
    node_open(&node, &options);
    memory = malloc(SPACE);
    ck_assert_ptr_nonnull(memory);
    putting = put;
    from = put ? memory : common->space;
    to = put ? common->space : memory;
    for (uint64_t i = 0; i < SPACE; i++)
        from[i] = byte_at(i);
    local = expose(&node, memory, 1);
    ck_assert_int_eq(node.ops->mem_deserialize(
                         node.cls, common->registration, common->size, &remote),
        NA_PLUGIN_OK);
    peer = lookup(&node, common->name);
}

static void
begin(bool put, const char *setting, uint32_t contexts)
{
    begin_at(put, false, setting, contexts);
}

static void
end(void)
{
    node.ops->mem_remote_free(node.cls, remote);
    node.ops->mem_deregister(node.cls, local);
    node.ops->addr_free(node.cls, peer);
    node_close(&node);
    free(memory);
    munmap(common, sizeof(*common));
}

static void
end_with_owner(void)
{
    send_line(child.out, "end");
    child_join(&child);
    end();
}

/* Submits a put or get of length bytes in a context. */
static int32_t
submit(uint32_t ctx, void *op, uint64_t at, uint64_t source, uint64_t length)
{
    return putting ? node.ops->put(node.ctx[ctx], op, local, source, remote, at,
                         length, peer, 0, 0)
                   : node.ops->get(node.ctx[ctx], op, local, at, remote, source,
                         length, peer, 0, 0);
}

/* The same in the first one; NULL: it has already ended. */
static void *
copy(uint64_t at, uint64_t source, uint64_t length)
{
    void *op = op_new(&node);
    int32_t ret = submit(0, op, at, source, length);

    if (ret == NA_PLUGIN_PENDING)
        return op;
    ck_assert_int_eq(ret, NA_PLUGIN_DONE);
    free(op);
    return NULL;
}

static int32_t
finish(void *op)
{
    int32_t status = op != NULL ? await_op(&node, 0, op).status : NA_PLUGIN_OK;

    free(op);
    return status;
}

static void
check(uint64_t at, uint64_t source, uint64_t length)
{
    ck_assert_mem_eq(to + at, from + source, length);
}

/* Sleeps for up to so many microseconds. */
static void
linger(unsigned seed, unsigned most)
{
    const struct timespec time = {0, (long) (seed * 7919U % most) * 1000L};

    nanosleep(&time, NULL);
}

/* Puts or gets of these lengths in turn, until the owner has helped. */
static void
copy_with_help(bool put, const uint64_t *lengths, uint32_t count)
{
    begin(put, NULL, 1);
    for (uint32_t round = 0; round < ROUNDS || common->assisted == 0; round++) {
        uint64_t length = lengths[round % count];
        uint64_t at = round % 97, source = round % 89;
        memset(to, 0, length + 99);
        ck_assert_int_eq(finish(copy(at, source, length)), NA_PLUGIN_OK);
        check(at, source, length);
        ck_assert_int_eq(to[at + length], 0);
    }
    end_with_owner();
}

START_TEST(assist_owner_that_polls_copies_a_part)
{
    static const uint64_t lengths[] = {PIECE + 1, 2 * PIECE - 1, 2 * PIECE,
        2 * PIECE + 1, 5 * PIECE - 7, (4U << 20) + 3, (16U << 20) - 1,
        (16U << 20) + 1, SPACE - 99};

    copy_with_help(_i != 0, lengths, sizeof(lengths) / sizeof(*lengths));
}
END_TEST

/* Those of less than two whole pieces, too. */
START_TEST(assist_of_short_operations)
{
    static const uint64_t lengths[] = {PIECE / 2, PIECE / 2 + 1, PIECE - 4097,
        PIECE, 2 * PIECE - 1, PIECE / 2 - 1};

    copy_with_help(_i != 0, lengths, sizeof(lengths) / sizeof(*lengths));
}
END_TEST

/* This side copies by its mapping, the owner by the kernel. What was put is got
 * back. */
START_TEST(assist_of_memory_that_is_mapped)
{
    const uint64_t length = SPACE - 2;
    uint64_t before = 0;
    uint32_t mapped = 0; /* rounds that began with a mapping */

    begin_at(false, true, NULL, 1);
    while (mapped < ROUNDS || common->assisted <= before) {
        if (node_counter(&node, "mapped_bytes") == 0)
            before = common->assisted + 2 * SPACE;
        else
            mapped++;
        putting = _i != 0;
        for (uint64_t i = 0; putting && i < SPACE; i++)
            from[i] = memory[i] = byte_at(i + mapped);
        if (putting)
            ck_assert_int_eq(finish(copy(0, 1, length)), NA_PLUGIN_OK);
        putting = false;
        memset(memory, 0, SPACE);
        ck_assert_int_eq(finish(copy(1, 0, length)), NA_PLUGIN_OK);
        check(1, _i != 0 ? 1 : 0, length);
        ck_assert_int_eq(memory[0], 0);
        ck_assert_int_eq(memory[SPACE - 1], 0);
    }
    end_with_owner();
}
END_TEST

START_TEST(assist_can_be_turned_off)
{
    begin(_i != 0, "no", 1);
    for (uint32_t round = 0; round < 4; round++) {
        ck_assert_int_eq(finish(copy(0, 0, SPACE)), NA_PLUGIN_OK);
        check(0, 0, SPACE);
    }
    ck_assert_uint_eq(common->assisted, 0);
    end_with_owner();
}
END_TEST

/* Several at a time, of which one is helped with. */
START_TEST(assist_of_operations_in_flight)
{
    enum { COUNT = 5 };
    const uint64_t length = SPACE / COUNT - 11;
    void *ops[COUNT];

    begin(_i != 0, NULL, 1);
    for (uint32_t round = 0; round < ROUNDS / 4; round++) {
        memset(to, 0, SPACE);
        for (uint32_t i = 0; i < COUNT; i++)
            ops[i] = copy(i * length, (COUNT - 1 - i) * length, length);
        for (uint32_t i = 0; i < COUNT; i++)
            ck_assert_int_eq(finish(ops[i]), NA_PLUGIN_OK);
        for (uint32_t i = 0; i < COUNT; i++)
            check(i * length, (COUNT - 1 - i) * length, length);
    }
    end_with_owner();
}
END_TEST

/* The initiator does the rest; only a piece that the owner has begun waits for it. */
START_TEST(assist_owner_that_is_stopped)
{
    begin(_i != 0, NULL, 1);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        memset(to, 0, SPACE);
        void *op = copy(0, 0, SPACE);
        pump();
        kill(child.pid, SIGSTOP);
        for (uint32_t i = 0; i < 200; i++)
            pump();
        kill(child.pid, SIGCONT);
        ck_assert_int_eq(finish(op), NA_PLUGIN_OK);
        check(0, 0, SPACE);
    }
    end_with_owner();
}
END_TEST

/* The operation has ended: what is in the memory stays. */
static void
expect_untouched(uint64_t length)
{
    memset(to, 0x5A, length);
    for (uint32_t i = 0; i < 100; i++) {
        pump();
        linger(i, 100);
    }
    ck_assert_uint_eq(to[0], 0x5A);
    ck_assert_int_eq(memcmp(to, to + 1, length - 1), 0);
}

START_TEST(assist_owner_that_is_killed)
{
    begin(_i % 2 != 0, NULL, 1);
    ck_assert_int_eq(finish(copy(0, 0, SPACE)), NA_PLUGIN_OK);
    void *op = copy(0, 0, SPACE);
    for (int i = 0; i <= _i / 2; i++)
        pump();
    child_kill(&child);
    int32_t status = finish(op);
    if (status == NA_PLUGIN_OK)
        check(0, 0, SPACE);
    else
        ck_assert_int_eq(status, NA_PLUGIN_E_HOSTUNREACH);
    expect_untouched(SPACE);
    end();
}
END_TEST

START_TEST(assist_of_an_operation_that_is_cancelled)
{
    begin(_i != 0, NULL, 1);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        void *op = copy(0, 0, SPACE);
        for (uint32_t i = 0; i < round % 4; i++)
            pump();
        node.ops->cancel(node.ctx[0], op);
        int32_t status = finish(op);
        ck_assert(status == NA_PLUGIN_OK || status == NA_PLUGIN_E_CANCELED);
        if (round % 8 == 0)
            expect_untouched(SPACE);
    }
    ck_assert_int_eq(finish(copy(1, 2, SPACE - 2)), NA_PLUGIN_OK);
    check(1, 2, SPACE - 2);
    end_with_owner();
}
END_TEST

/* A context, and then the class, end during an operation. */
START_TEST(assist_of_an_operation_whose_context_is_destroyed)
{
    begin(_i != 0, NULL, 2);
    void *op = op_new(&node);
    ck_assert_int_eq(submit(1, op, 0, 0, SPACE), NA_PLUGIN_PENDING);
    for (uint32_t i = 0; i < 5; i++)
        pump();
    node.ops->ctx_destroy(node.ctx[1]);
    node.ctx[1] = NULL;
    expect_untouched(SPACE);
    free(op);
    end_with_owner();
}
END_TEST

int
main(void)
{
    if (!kernel_copies()) {
        printf("skipped: processes may not access one another's memory\n");
        return 77;
    }
    TCase *cases = tcase_create("cases");
    /* gets, then puts */
    tcase_add_loop_test(cases, assist_owner_that_polls_copies_a_part, 0, 2);
    tcase_add_loop_test(cases, assist_of_short_operations, 0, 2);
    tcase_add_loop_test(cases, assist_of_memory_that_is_mapped, 0, 2);
    tcase_add_loop_test(cases, assist_can_be_turned_off, 0, 2);
    tcase_add_loop_test(cases, assist_of_operations_in_flight, 0, 2);
    tcase_add_loop_test(cases, assist_owner_that_is_stopped, 0, 2);
    tcase_add_loop_test(cases, assist_owner_that_is_killed, 0, 10);
    tcase_add_loop_test(cases, assist_of_an_operation_that_is_cancelled, 0, 2);
    tcase_add_loop_test(
        cases, assist_of_an_operation_whose_context_is_destroyed, 0, 2);
    return run_cases("assist", (TCase *const[]){cases}, 1);
}

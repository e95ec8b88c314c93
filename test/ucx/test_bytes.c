/* SPDX-License-Identifier: BSD-3-Clause */
/* How data of puts and gets travel: over tcp in messages, in shared memory by
 * UCX itself if it allocated the memory. */
#include <stdlib.h>
#include <string.h>

#include "runner.h"
#include "side.h"

#define LENGTH ((uint64_t) 1 << 20)
#define SERIAL_MOST 4096
/* offset of the access flags in a serialized registration */
#define SERIAL_ACCESS 1

/* Two classes of this process, and memory of both. */
struct couple {
    struct side a, b;
    na_plugin_addr *to_b;
    unsigned char *memory[2];
    const na_plugin_mem_alloc *alloc;
    na_plugin_mem *own, *others, *remote;
};

static unsigned char *
get_memory(struct couple *couple, struct side *side)
{
    void *memory = NULL;

    if (couple->alloc != NULL)
        ck_assert_int_eq(
            couple->alloc->alloc(side->cls, LENGTH, &memory), NA_PLUGIN_OK);
    else
        memory = calloc(1, LENGTH);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

/* Three segments, the first two of these lengths: each side has other
 * boundaries. */
static na_plugin_mem *
register_memory(
    struct side *side, unsigned char *memory, uint64_t first, uint64_t second)
{
    const na_plugin_segment segments[] = {{memory, first},
        {memory + first, second},
        {memory + first + second, LENGTH - first - second}};
    na_plugin_mem *mem;

    ck_assert_int_eq(
        side->ops->mem_register(side->cls,
            &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0, segments, 3,
                NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, 0, 0},
            &mem),
        NA_PLUGIN_OK);
    return mem;
}

static void
couple_open(struct couple *couple, const char *protocol, bool allocated)
{
    char name[SIDE_TEXT];
    unsigned char bytes[SERIAL_MOST];
    uint64_t size = sizeof(bytes);
    struct act send, recv;

    memset(couple, 0, sizeof(*couple));
    side_open(&couple->a, protocol, "127.0.0.1", 0, 0);
    side_open(&couple->b, protocol, "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    side_name(&couple->b, name);
    couple->to_b = side_lookup(&couple->a, name);
    if (allocated) {
        couple->alloc =
            couple->a.ops->extension(couple->a.cls, NA_PLUGIN_MEM_ALLOC_ID);
        ck_assert_ptr_nonnull(couple->alloc);
    }
    couple->memory[0] = get_memory(couple, &couple->a);
    couple->memory[1] = get_memory(couple, &couple->b);
    couple->own = register_memory(&couple->a, couple->memory[0], 1000, 70001);
    couple->others = register_memory(&couple->b, couple->memory[1], 4096, 1);
    ck_assert_int_eq(couple->b.ops->mem_serialize(
                         couple->b.cls, couple->others, bytes, &size),
        NA_PLUGIN_OK);
    ck_assert_int_eq(couple->a.ops->mem_deserialize(
                         couple->a.cls, bytes, size, &couple->remote),
        NA_PLUGIN_OK);
    act_init(&send, &couple->a);
    act_init(&recv, &couple->b);
    act_recv_any(&recv);
    act_send(&send, true, "hello", 5, couple->to_b, 1);
    ck_assert_int_eq(act_await(&send, &couple->b), NA_PLUGIN_OK);
    ck_assert_int_eq(act_await(&recv, &couple->a), NA_PLUGIN_OK);
    couple->b.ops->addr_free(couple->b.cls, recv.end.source);
    act_fini(&send);
    act_fini(&recv);
}

static void
couple_close(struct couple *couple)
{
    couple->a.ops->mem_remote_free(couple->a.cls, couple->remote);
    couple->a.ops->mem_deregister(couple->a.cls, couple->own);
    couple->b.ops->mem_deregister(couple->b.cls, couple->others);
    if (couple->alloc != NULL) {
        couple->alloc->free(couple->a.cls, couple->memory[0]);
        couple->alloc->free(couple->b.cls, couple->memory[1]);
    } else {
        free(couple->memory[0]);
        free(couple->memory[1]);
    }
    couple->a.ops->addr_free(couple->a.cls, couple->to_b);
    side_close(&couple->a);
    side_close(&couple->b);
}

/* One direction, everything; checks the data. */
static void
move_once(struct couple *couple, bool put, struct side *other)
{
    struct act act;

    act_init(&act, &couple->a);
    act_move(&act, put, couple->own, couple->remote, LENGTH, couple->to_b);
    ck_assert_int_eq(act_await(&act, other), NA_PLUGIN_OK);
    ck_assert_int_eq(memcmp(couple->memory[0], couple->memory[1], LENGTH), 0);
    act_fini(&act);
}

/* Puts, then gets. other: polled too, or NULL. */
static void
move(struct couple *couple, struct side *other)
{
    for (uint64_t i = 0; i < LENGTH; i++)
        couple->memory[0][i] = (unsigned char) (i * 7 + i / 251);
    move_once(couple, true, other);
    memset(couple->memory[0], 0, LENGTH);
    move_once(couple, false, other);
    ck_assert_uint_eq(side_counter(&couple->a, "put_bytes"), LENGTH);
    ck_assert_uint_eq(side_counter(&couple->a, "get_bytes"), LENGTH);
}

START_TEST(data_over_tcp_is_sent_in_messages)
{
    struct couple couple;

    couple_open(&couple, "tcp", false);
    move(&couple, &couple.b);
    ck_assert_uint_eq(side_counter(&couple.a, "rma_message_bytes"), 2 * LENGTH);
    ck_assert_uint_eq(side_counter(&couple.a, "rma_native_bytes"), 0);
    couple_close(&couple);
}
END_TEST

/* A peer that is killed while it writes to UCX's queue in shared memory holds up
 * all other peers. */
START_TEST(shared_memory_is_left_out_of_all)
{
    struct couple couple;

    couple_open(&couple, "all", true);
    move(&couple, &couple.b);
    ck_assert_uint_eq(side_counter(&couple.a, "rma_native_bytes"), 0);
    ck_assert_uint_eq(side_counter(&couple.a, "rma_message_bytes"), 2 * LENGTH);
    couple_close(&couple);
}
END_TEST

/* UCX transfers alone: the owner does not poll. */
START_TEST(data_in_shared_memory_is_moved_by_ucx)
{
    struct couple couple;

    setenv("UCX_TLS", "^sysv", 1);
    couple_open(&couple, "all", true);
    /* UCX still connects lanes after the first message */
    uint64_t until = now_ms() + 200;
    while (now_ms() < until) {
        side_poll(&couple.a);
        side_poll(&couple.b);
    }
    move(&couple, NULL);
    ck_assert_uint_eq(side_counter(&couple.a, "rma_native_bytes"), 2 * LENGTH);
    ck_assert_uint_eq(side_counter(&couple.a, "rma_message_bytes"), 0);
    couple_close(&couple);
}
END_TEST

START_TEST(data_of_other_memory_is_sent_in_messages)
{
    struct couple couple;

    couple_open(&couple, "all", false);
    move(&couple, &couple.b);
    ck_assert_uint_eq(side_counter(&couple.a, "rma_message_bytes"), 2 * LENGTH);
    couple_close(&couple);
}
END_TEST

START_TEST(data_to_self_is_copied)
{
    struct couple couple;
    struct act act;
    na_plugin_addr *self;

    couple_open(&couple, "tcp", false);
    ck_assert_int_eq(
        couple.b.ops->addr_self(couple.b.cls, &self), NA_PLUGIN_OK);
    act_init(&act, &couple.b);
    act_move(&act, true, couple.others, couple.others, LENGTH, self);
    ck_assert_int_eq(act_await(&act, NULL), NA_PLUGIN_OK);
    ck_assert_uint_eq(side_counter(&couple.b, "rma_self_bytes"), LENGTH);
    act_fini(&act);
    couple.b.ops->addr_free(couple.b.cls, self);
    couple_close(&couple);
}
END_TEST

/* The registration's access is checked for self too, not that of the serialized
 * form. */
START_TEST(data_to_self_is_access_checked)
{
    static unsigned char there[64], here[64];
    const na_plugin_segment segments[] = {{there, 64}, {here, 64}};
    unsigned char bytes[SERIAL_MOST];
    uint64_t size = sizeof(bytes);
    struct side side = {0};
    na_plugin_mem *mems[2], *described;
    na_plugin_addr *self;
    struct act act;

    side_open(&side, "tcp", "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    ck_assert_int_eq(side.ops->addr_self(side.cls, &self), NA_PLUGIN_OK);
    for (uint32_t i = 0; i < 2; i++)
        ck_assert_int_eq(
            side.ops->mem_register(side.cls,
                &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                    &segments[i], 1,
                    i == 0 ? NA_PLUGIN_MEM_READ
                           : NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE,
                    0, 0},
                &mems[i]),
            NA_PLUGIN_OK);
    ck_assert_int_eq(
        side.ops->mem_serialize(side.cls, mems[0], bytes, &size), NA_PLUGIN_OK);
    bytes[SERIAL_ACCESS] = NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE;
    ck_assert_int_eq(
        side.ops->mem_deserialize(side.cls, bytes, size, &described),
        NA_PLUGIN_OK);
    memset(here, 1, sizeof(here));
    act_init(&act, &side);
    act_move(&act, true, mems[1], described, 9, self);
    ck_assert_int_eq(act_await(&act, NULL), NA_PLUGIN_E_PERMISSION);
    for (size_t i = 0; i < sizeof(there); i++)
        ck_assert_uint_eq(there[i], 0);
    act_fini(&act);
    side.ops->mem_remote_free(side.cls, described);
    side.ops->mem_deregister(side.cls, mems[0]);
    side.ops->mem_deregister(side.cls, mems[1]);
    side.ops->addr_free(side.cls, self);
    side_close(&side);
}
END_TEST

/* The serialized form of b's registration, whose last segment's key is at the
 * end. */
static uint64_t
serial_of(struct couple *couple, unsigned char bytes[SERIAL_MOST])
{
    uint64_t size = SERIAL_MOST;

    ck_assert_int_eq(couple->b.ops->mem_serialize(
                         couple->b.cls, couple->others, bytes, &size),
        NA_PLUGIN_OK);
    return size;
}

static void
refuse_serial(struct couple *couple, const unsigned char *bytes, uint64_t size,
    const char *what)
{
    na_plugin_mem *mem = NULL;
    /* allocated at exact size, so that AddressSanitizer detects reads beyond
     * it */
    unsigned char *exact = malloc(size);

    ck_assert_ptr_nonnull(exact);
    memcpy(exact, bytes, size);
    int32_t ret =
        couple->a.ops->mem_deserialize(couple->a.cls, exact, size, &mem);
    ck_assert_msg(ret == NA_PLUGIN_E_INVALID_ARG, "%s: %d", what, (int) ret);
    free(exact);
}

/* Keys are checked before UCX unpacks them, since it trusts them. */
START_TEST(registration_with_a_damaged_key_is_rejected)
{
    unsigned char bytes[SERIAL_MOST];
    struct couple plain, couple;

    couple_open(&plain, "tcp", false);
    uint64_t front = serial_of(&plain, bytes);
    couple_close(&plain);
    couple_open(&couple, "all", true);
    uint64_t size = serial_of(&couple, bytes);
    ck_assert_uint_gt(size, front + 3 * 9);
    for (uint64_t i = front; i < size; i++) {
        for (uint32_t bit = 1; bit < 256; bit <<= 1) {
            bytes[i] ^= (unsigned char) bit;
            refuse_serial(&couple, bytes, size, "a bit of a key");
            bytes[i] ^= (unsigned char) bit;
        }
    }
    refuse_serial(&couple, bytes, size - 1, "a byte less");
    couple_close(&couple);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, data_over_tcp_is_sent_in_messages);
    tcase_add_test(tcase, shared_memory_is_left_out_of_all);
    tcase_add_test(tcase, data_in_shared_memory_is_moved_by_ucx);
    tcase_add_test(tcase, data_of_other_memory_is_sent_in_messages);
    tcase_add_test(tcase, data_to_self_is_copied);
    tcase_add_test(tcase, data_to_self_is_access_checked);
    tcase_add_test(tcase, registration_with_a_damaged_key_is_rejected);
    return run_tcase("ucx bytes", tcase);
}

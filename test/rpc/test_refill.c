/* SPDX-License-Identifier: BSD-3-Clause */
/* Receive refill: the handles of held requests take no more memory than the
 * limit, further requests wait, and the memory is freed after a flood. Two
 * classes, both in this thread. */
#include "log_watch.h"
#include "mercury.h"
#include "mercury_macros.h"
#include "runner.h"
#include "session.h"

#include <check.h>
#include <malloc.h>
#include <stdlib.h>

#define KEEP 4096U /* HG_REFILL_KEEP */
#define BEYOND 3000U
#define FLOOD (KEEP + BEYOND)
#define MESSAGE 4096U /* bytes of a buffer, two per handle */
#define LIMIT 2000000U
#define LIMIT_TEXT "2000000"

static const char *info = "na+sm";

static struct {
    hg_class_t *target_class, *origin_class;
    hg_context_t *target, *origin;
    hg_addr_t addr;
    hg_id_t id;
    hg_handle_t origins[FLOOD];
    hg_handle_t held[FLOOD];
    uint32_t held_count;
    uint32_t answered;
} world;

static hg_return_t
on_hold(hg_handle_t handle)
{
    ck_assert_uint_lt(world.held_count, FLOOD);
    world.held[world.held_count++] = handle;
    return HG_SUCCESS;
}

static hg_return_t
on_answer(const struct hg_cb_info *callback_info)
{
    ck_assert_int_eq(callback_info->ret, HG_SUCCESS);
    world.answered++;
    return HG_SUCCESS;
}

static void
begin(void)
{
    hg_addr_t self;
    char name[256];
    hg_size_t size = sizeof name;

    world.target_class = HG_Init(info, HG_TRUE);
    world.origin_class = HG_Init(info, HG_FALSE);
    ck_assert(world.target_class && world.origin_class);
    world.target = HG_Context_create(world.target_class);
    world.origin = HG_Context_create(world.origin_class);
    ck_assert(world.target && world.origin);
    MERCURY_REGISTER(world.target_class, "hold", void, void, on_hold);
    world.id = MERCURY_REGISTER(world.origin_class, "hold", void, void, NULL);
    ck_assert_int_eq(HG_Addr_self(world.target_class, &self), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_to_string(world.target_class, name, &size, self), HG_SUCCESS);
    HG_Addr_free(world.target_class, self);
    ck_assert_int_eq(
        HG_Addr_lookup2(world.origin_class, name, &world.addr), HG_SUCCESS);
    for (uint32_t i = 0; i < FLOOD; i++)
        ck_assert_int_eq(
            HG_Create(world.origin, world.addr, world.id, &world.origins[i]),
            HG_SUCCESS);
}

static void
end(void)
{
    for (uint32_t i = 0; i < FLOOD; i++)
        HG_Destroy(world.origins[i]);
    HG_Addr_free(world.origin_class, world.addr);
    ck_assert_int_eq(HG_Context_destroy(world.origin), HG_SUCCESS);
    ck_assert_int_eq(HG_Context_destroy(world.target), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(world.origin_class), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(world.target_class), HG_SUCCESS);
}

static void
pump(void)
{
    HG_Progress(world.target, 0);
    HG_Trigger(world.target, 0, 64, NULL);
    HG_Progress(world.origin, 0);
    HG_Trigger(world.origin, 0, 64, NULL);
}

static void
forward(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        ck_assert_int_eq(
            HG_Forward(world.origins[i], on_answer, NULL, NULL), HG_SUCCESS);
        if (i % 16 == 0)
            pump();
    }
}

/* Progresses until this many requests are held. */
static void
hold(uint32_t count)
{
    uint64_t deadline = session_now_ms() + 30000;

    while (world.held_count < count) {
        ck_assert_msg(session_now_ms() < deadline, "%u of %u requests are held",
            world.held_count, count);
        pump();
    }
}

static void
release_held(void)
{
    while (world.held_count > 0) {
        hg_handle_t handle = world.held[--world.held_count];

        ck_assert_int_eq(HG_Respond(handle, NULL, NULL, NULL), HG_SUCCESS);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
        if (world.held_count % 16 == 0) {
            HG_Progress(world.origin, 0);
            HG_Trigger(world.origin, 0, 64, NULL);
        }
    }
}

static void
await_answers(uint32_t count)
{
    uint64_t deadline = session_now_ms() + 30000;

    while (world.answered < count) {
        ck_assert_msg(session_now_ms() < deadline, "%u of %u are answered",
            world.answered, count);
        pump();
        release_held();
    }
    world.answered = 0;
}

START_TEST(refill_memory_is_freed_after_a_flood)
{
    begin();
    /* the second round reuses pooled handles */
    for (int round = 0; round < 2; round++) {
        forward(FLOOD);
        hold(FLOOD);
        size_t peak = mallinfo2().uordblks;
        release_held();
        await_answers(FLOOD);
        /* a handle is free once the transport has sent its response */
        size_t most = peak - 2 * (size_t) MESSAGE * (BEYOND - 200);
        uint64_t deadline = session_now_ms() + 30000;
        while (mallinfo2().uordblks > most) {
            ck_assert_msg(session_now_ms() < deadline,
                "%zu bytes with %u requests, %zu after them", peak, FLOOD,
                mallinfo2().uordblks);
            for (int i = 0; i < 100; i++) /* mallinfo2 is slow */
                pump();
        }
    }
    end();
}
END_TEST

START_TEST(refill_beyond_the_limit_makes_requests_wait)
{
    uint32_t granted = LIMIT / (2 * MESSAGE), answered = 0;

    ck_assert_int_eq(setenv("TALARIA_HG_OVERFLOW_TOTAL", LIMIT_TEXT, 1), 0);
    HG_Set_log_level("error"); /* the limit is logged as a warning */
    begin();
    forward(1000);
    hold(granted / 2);
    for (int i = 0; i < 2000; i++)
        pump();
    ck_assert_uint_le(world.held_count, granted);
    while (answered < 1000) {
        uint32_t count = world.held_count;

        release_held();
        answered += count;
        for (int i = 0; i < 2000 && world.held_count == 0; i++)
            pump();
        ck_assert_uint_le(world.held_count, granted);
        ck_assert_msg(
            count > 0 || answered >= 1000, "%u are answered", answered);
    }
    await_answers(1000);
    end();
}
END_TEST

int
main(int argc, char **argv)
{
    TCase *tcase = tcase_create("refill");

    if (argc > 1)
        info = argv[1];
    tcase_add_test(tcase, refill_memory_is_freed_after_a_flood);
    tcase_add_test(tcase, refill_beyond_the_limit_makes_requests_wait);
    return run_tcase("refill", tcase);
}

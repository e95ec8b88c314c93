/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages of a call in the log at level debug, on both sides. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <stdio.h>
#include <string.h>

#define ID_MAX 64U

/* Called in either process after its class was opened. */
static void
open_with_debug(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    HG_Set_log_level("debug");
}

static const struct session_setup setup = {
    .open = open_with_debug, .stopping = rpcs_stopping};

/* Reads the call id from the line of a forward: "call C.T.N: ". */
static void
read_id(const char *rpc, char id[ID_MAX])
{
    char stage[ID_MAX];
    const char *line = NULL, *begin, *end;

    snprintf(stage, sizeof stage, "RPC %s (", rpc);
    line = log_line(stage);
    ck_assert_ptr_nonnull(line);
    ck_assert_msg(strstr(line, ": forward: HG_SUCCESS") != NULL, "%s", line);
    begin = strstr(line, ": call ");
    ck_assert_ptr_nonnull(begin);
    begin += 2;
    end = strchr(begin, ':');
    ck_assert_ptr_nonnull(end);
    snprintf(id, ID_MAX, "%.*s", (int) (end - begin), begin);
}

static uint32_t
count(const char *id, const char *stage)
{
    char text[2 * ID_MAX];

    snprintf(text, sizeof text, "%s: %s", id, stage);
    return log_count(text);
}

/* Lines of the other process appear when it writes them. */
static void
wait_for(struct session *s, const char *id, const char *stage)
{
    uint64_t deadline = session_now_ms() + 30000;

    while (count(id, stage) == 0 && session_now_ms() < deadline)
        session_step(s, 10);
    ck_assert_msg(
        count(id, stage) == 1, "%s: %s: %u", id, stage, count(id, stage));
}

START_TEST(stages_of_a_call_have_its_id_on_both_sides)
{
    static const char *const stages[] = {"forward: HG_SUCCESS",
        "request arrived: HG_SUCCESS", "handler: HG_SUCCESS",
        "respond: HG_SUCCESS", "released: HG_SUCCESS",
        "answer arrived: HG_SUCCESS", "forward's callback: HG_SUCCESS"};
    struct session s;
    hg_handle_t handle;
    char id[ID_MAX];

    session_begin(&s, _i, &setup);
    log_expect("[debug]", 1, 1000);
    log_expect("[info]", 0, 1000);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    read_id("empty", id);
    for (unsigned i = 0; i < sizeof stages / sizeof stages[0]; i++)
        wait_for(&s, id, stages[i]);
    /* Each call has its own id. */
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_uint_eq(count(id, "forward: "), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(stages_of_a_hung_call_end_at_the_hanging_stage)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    char id[ID_MAX];

    session_begin(&s, _i, &setup);
    log_expect("[debug]", 1, 1000);
    log_expect("[info]", 0, 1000);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    rpcs_wait_handled(&s, RPC_KEEP, 1);
    read_id("keep", id);
    wait_for(&s, id, "handler");
    ck_assert_uint_eq(count(id, "respond"), 0);
    ck_assert_uint_eq(count(id, "answer arrived"), 0);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_uint_eq(count(id, "forward's callback: HG_CANCELED"), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(stages_are_logged_at_debug_only)
{
    struct session s;
    hg_handle_t handle;
    uint32_t before;

    session_begin(&s, _i, &setup);
    log_expect("[debug]", 1, 1000);
    log_expect("[info]", 0, 1000);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    before = log_count(": forward: ");
    ck_assert_uint_eq(before, 1);
    HG_Set_log_level("info");
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_uint_eq(log_count(": forward: "), before);
    HG_Set_log_level("debug");
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_uint_eq(log_count(": forward: "), before + 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, stages_of_a_call_have_its_id_on_both_sides);
    session_add(tcase, stages_of_a_hung_call_end_at_the_hanging_stage);
    session_add(tcase, stages_are_logged_at_debug_only);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "stages", add);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* HG_Ref_get at every stage of a call: programs written for Mercury rely on the
 * number. */
#include "rpcs.h"

/* What a handler does. */
enum way {
    WAY_CALLBACK,
    WAY_SILENT,
    WAY_TAKEN_TWICE,
    WAY_LATER,
    WAY_LATER_CALLBACK
};

/* Stages of a handle. */
enum stage {
    CREATED,
    FORWARDED,
    CANCELLED,
    ENTERED,
    DECODED,
    FREED,
    RESPONDED,
    TAKEN_ONCE_MORE,
    DESTROYED,
    LATER,
    LATER_RESPONDED,
    IN_RESPOND_CALLBACK,
    IN_FORWARD_CALLBACK,
    ENTERED_ONE_WAY,
    REFUSED_ONE_WAY,
    OVER
};

static const struct {
    int32_t remote;
    int32_t self; /* without the transport */
} counts[] = {
    [CREATED] = {1, 1},
    [FORWARDED] = {2, 2},
    [CANCELLED] = {2, 2},
    [ENTERED] = {3, 4},
    [DECODED] = {4, 5},
    [FREED] = {3, 4},
    [RESPONDED] = {3, 4},
    [TAKEN_ONCE_MORE] = {4, 5},
    [DESTROYED] = {2, 3},
    [LATER] = {2, 3},
    [LATER_RESPONDED] = {2, 3},
    [IN_RESPOND_CALLBACK] = {1, 3},
    [IN_FORWARD_CALLBACK] = {2, 2},
    [ENTERED_ONE_WAY] = {2, 4},
    [REFUSED_ONE_WAY] = {2, 4},
    [OVER] = {1, 1},
};

struct shared {
    bool self;
    _Atomic uint32_t handled;
    _Atomic uint32_t responded;
};

static hg_id_t counted_id, answer_id, one_way_id, mixed_id;
static hg_handle_t kept;

static struct shared *
shared(void)
{
    return (struct shared *) ((char *) session_user() + RPCS_USER_OFFSET);
}

static bool
is_at(hg_handle_t handle, enum stage stage)
{
    return HG_Ref_get(handle) ==
           (shared()->self ? counts[stage].self : counts[stage].remote);
}

static hg_return_t
on_responded(const struct hg_cb_info *info)
{
    hg_handle_t handle = info->info.respond.handle;

    if (info->arg) { /* the reference taken above */
        TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    }
    TARGET_ASSERT(is_at(handle, IN_RESPOND_CALLBACK));
    atomic_fetch_add(&shared()->responded, 1);
    return HG_SUCCESS;
}

static hg_return_t
on_counted(hg_handle_t handle)
{
    uint32_t way = 0;

    TARGET_ASSERT(is_at(handle, ENTERED));
    TARGET_ASSERT(HG_Get_input(handle, &way) == HG_SUCCESS);
    TARGET_ASSERT(is_at(handle, DECODED));
    TARGET_ASSERT(HG_Free_input(handle, &way) == HG_SUCCESS);
    TARGET_ASSERT(is_at(handle, FREED));
    if (way == WAY_LATER || way == WAY_LATER_CALLBACK) {
        kept = handle;
        atomic_fetch_add(&shared()->handled, 1);
        return HG_SUCCESS;
    }
    TARGET_ASSERT(
        HG_Respond(handle, way == WAY_SILENT ? NULL : on_responded,
            way == WAY_TAKEN_TWICE ? &kept : NULL, &way) == HG_SUCCESS);
    TARGET_ASSERT(is_at(handle, RESPONDED));
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, &way) == HG_BUSY);
    TARGET_ASSERT(is_at(handle, RESPONDED));
    if (way == WAY_TAKEN_TWICE) {
        TARGET_ASSERT(HG_Ref_incr(handle) == HG_SUCCESS);
        TARGET_ASSERT(is_at(handle, TAKEN_ONCE_MORE));
    }
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    TARGET_ASSERT(
        is_at(handle, way == WAY_TAKEN_TWICE ? RESPONDED : DESTROYED));
    atomic_fetch_add(&shared()->handled, 1);
    return HG_SUCCESS;
}

/* Responds to the kept request. */
static hg_return_t
on_answer(hg_handle_t handle)
{
    uint32_t way = 0;

    TARGET_ASSERT(HG_Get_input(handle, &way) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_input(handle, &way) == HG_SUCCESS);
    TARGET_ASSERT(is_at(kept, LATER));
    if (way == WAY_LATER_CALLBACK) {
        TARGET_ASSERT(HG_Respond(kept, on_responded, NULL, &way) == HG_SUCCESS);
        TARGET_ASSERT(is_at(kept, LATER_RESPONDED));
    } else {
        /* The transport may hold its reference longer. */
        TARGET_ASSERT(HG_Respond(kept, NULL, NULL, &way) == HG_SUCCESS);
    }
    TARGET_ASSERT(HG_Destroy(kept) == HG_SUCCESS);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static hg_return_t
on_one_way(hg_handle_t handle)
{
    TARGET_ASSERT(is_at(handle, ENTERED_ONE_WAY));
    TARGET_ASSERT(
        HG_Respond(handle, on_responded, NULL, NULL) == HG_OPNOTSUPPORTED);
    TARGET_ASSERT(is_at(handle, REFUSED_ONE_WAY));
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    atomic_fetch_add(&shared()->handled, 1);
    return HG_SUCCESS;
}

/* Frees input and output, and a struct of its own, with the other function. */
static hg_return_t
on_mixed(hg_handle_t handle)
{
    int32_t refs = HG_Ref_get(handle);
    blob_t in, out = blob_make(40, 1);

    TARGET_ASSERT(HG_Get_input(handle, &in) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_output(handle, &in) == HG_SUCCESS);
    TARGET_ASSERT(HG_Ref_get(handle) == refs);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, &out) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_output(handle, &out) == HG_SUCCESS);
    TARGET_ASSERT(HG_Ref_get(handle) == refs);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static void
open_refs(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    counted_id = MERCURY_REGISTER(
        hg_class, "refs_counted", uint32_t, uint32_t, on_counted);
    answer_id =
        MERCURY_REGISTER(hg_class, "refs_answer", uint32_t, void, on_answer);
    mixed_id =
        MERCURY_REGISTER(hg_class, "refs_mixed", blob_t, blob_t, on_mixed);
    one_way_id =
        MERCURY_REGISTER(hg_class, "refs_one_way", void, void, on_one_way);
    ck_assert_int_eq(
        HG_Registered_disable_response(hg_class, one_way_id, 1), HG_SUCCESS);
}

static const struct session_setup setup = {.open = open_refs};

static void
begin(struct session *s, int mode)
{
    session_begin(s, mode, &setup);
    shared()->self = s->mode->shape == SESSION_SELF && s->mode->loopback;
}

static hg_return_t
on_forwarded(const struct hg_cb_info *info)
{
    ck_assert_int_eq(HG_Ref_get(info->info.forward.handle),
        counts[IN_FORWARD_CALLBACK].remote);
    return call_done(info);
}

static hg_handle_t
forwarded(struct session *s, struct call *call, hg_id_t id, void *in)
{
    hg_handle_t handle = session_handle(s, id);

    ck_assert(is_at(handle, CREATED));
    ck_assert_int_eq(HG_Forward(handle, on_forwarded, call, in), HG_SUCCESS);
    ck_assert(is_at(handle, FORWARDED));
    return handle;
}

static void
ends(struct session *s, struct call *call, hg_handle_t handle, hg_return_t ret)
{
    session_wait(s, &call->called, 1);
    ck_assert_int_eq(call->ret, ret);
    ck_assert(is_at(handle, OVER));
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
}

START_TEST(refs_of_a_call_answered_by_its_handler)
{
    struct session s;
    uint32_t responded = 0;

    begin(&s, _i);
    for (uint32_t way = WAY_CALLBACK; way <= WAY_TAKEN_TWICE; way++) {
        struct call call = {.called = 0};
        hg_handle_t handle = forwarded(&s, &call, counted_id, &way);

        ends(&s, &call, handle, HG_SUCCESS);
        responded += way != WAY_SILENT;
        session_wait_other(&s, &shared()->responded, responded);
    }
    session_end(&s);
}
END_TEST

START_TEST(refs_of_a_call_answered_later)
{
    struct session s;
    uint32_t way = WAY_LATER;

    begin(&s, _i);
    for (uint32_t i = 1; way <= WAY_LATER_CALLBACK; way++, i++) {
        struct call call = {.called = 0};
        hg_handle_t handle = forwarded(&s, &call, counted_id, &way);
        hg_handle_t answer = session_handle(&s, answer_id);

        session_wait_other(&s, &shared()->handled, i);
        ck_assert(is_at(handle, FORWARDED));
        ck_assert_int_eq(session_forward(&s, answer, &way), HG_SUCCESS);
        ck_assert_int_eq(HG_Destroy(answer), HG_SUCCESS);
        ends(&s, &call, handle, HG_SUCCESS);
    }
    session_wait_other(&s, &shared()->responded, 1);
    session_end(&s);
}
END_TEST

START_TEST(refs_of_a_cancelled_call)
{
    struct session s;
    uint32_t way = WAY_LATER_CALLBACK;
    struct call call = {.called = 0};
    hg_handle_t handle, answer;

    begin(&s, _i);
    handle = forwarded(&s, &call, counted_id, &way);
    answer = session_handle(&s, answer_id);
    session_wait_other(&s, &shared()->handled, 1);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    ck_assert(is_at(handle, CANCELLED));
    ends(&s, &call, handle, HG_CANCELED);
    ck_assert_int_eq(session_forward(&s, answer, &way), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(answer), HG_SUCCESS);
    session_wait_other(&s, &shared()->responded, 1);
    session_end(&s);
}
END_TEST

START_TEST(refs_of_a_one_way_call)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    begin(&s, _i);
    handle = forwarded(&s, &call, one_way_id, NULL);
    ends(&s, &call, handle, HG_SUCCESS);
    session_wait_other(&s, &shared()->handled, 1);
    session_end(&s);
}
END_TEST

START_TEST(refs_are_released_by_either_free)
{
    struct session s;
    hg_handle_t handle;
    blob_t in = blob_make(30, 2), out;

    begin(&s, _i);
    handle = session_handle(&s, mixed_id);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Free_input(handle, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(HG_Free_input(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, refs_of_a_call_answered_by_its_handler);
    session_add(tcase, refs_of_a_call_answered_later);
    session_add(tcase, refs_of_a_cancelled_call);
    session_add(tcase, refs_of_a_one_way_call);
    session_add(tcase, refs_are_released_by_either_free);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "refs", add);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Several contexts of one class, each in its own thread and addressed by id;
 * and the loops of a server: an external loop per context, a pool of threads
 * that trigger. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"
#include "serve_contexts.h"

#include <poll.h>
#include <string.h>

enum { CONTEXTS = 3, IN_FLIGHT = 8 };

static hg_id_t where_id;

/* Responds with the id of the context that runs the handler. */
static hg_return_t
on_where(hg_handle_t handle)
{
    uint32_t id = HG_Context_get_id(HG_Get_info(handle)->context);

    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, &id) == HG_SUCCESS);
    return HG_Destroy(handle);
}

static void
open_where(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    where_id = MERCURY_REGISTER(hg_class, "where", void, uint32_t, on_where);
}

static void
more_contexts(struct hg_init_info *info)
{
    info->na_init_info.max_contexts = CONTEXTS;
}

static void
say_ready(void)
{
    atomic_fetch_add(&rpcs_shared()->handled[RPC_MISSING], 1);
}

static void
serve_all(hg_context_t *context, const _Atomic bool *stop)
{
    serve_contexts(context, CONTEXTS, stop, say_ready);
}

static const struct session_setup setup_all = {
    .open = open_where, .init = more_contexts, .serve = serve_all};

struct asker {
    struct session *session;
    hg_context_t *context;
    uint8_t to;
    uint32_t wrong;
    pthread_t thread;
};

/* Calls one of the target's contexts repeatedly, from a context of its own. */
static void *
ask(void *arg)
{
    struct asker *asker = arg;
    struct call call;
    hg_handle_t handle;
    uint32_t id;

    if (HG_Create(asker->context, asker->session->target, where_id, &handle) !=
            HG_SUCCESS ||
        HG_Set_target_id(handle, asker->to) != HG_SUCCESS)
        return asker;
    for (uint32_t i = 0; i < test_count(TEST_EVENT_CALLS); i++) {
        call.called = 0;
        if (HG_Forward(handle, call_done, &call, NULL) != HG_SUCCESS)
            return asker;
        call_wait(asker->context, &call, 1);
        if (call.ret != HG_SUCCESS || HG_Get_output(handle, &id) != HG_SUCCESS)
            return asker;
        asker->wrong += id != asker->to;
        HG_Free_output(handle, &id);
    }
    return HG_Destroy(handle) == HG_SUCCESS ? NULL : asker;
}

START_TEST(several_contexts_each_in_its_thread)
{
    struct session s;
    struct asker askers[CONTEXTS];
    void *failed;

    if (session_mode_at(_i)->shape == SESSION_SELF ||
        session_mode_at(_i)->thread_mode == NA_THREAD_MODE_SINGLE)
        return;
    session_begin(&s, _i, &setup_all);
    session_wait_other(&s, &rpcs_shared()->handled[RPC_MISSING], 1);
    for (uint8_t i = 0; i < CONTEXTS; i++) {
        askers[i] = (struct asker){.session = &s,
            .context = i == 0 ? s.context : HG_Context_create_id(s.hg_class, i),
            .to = (uint8_t) (CONTEXTS - 1 - i)};
        ck_assert_ptr_nonnull(askers[i].context);
        ck_assert_int_eq(
            pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
    }
    for (int i = 0; i < CONTEXTS; i++) {
        ck_assert_int_eq(pthread_join(askers[i].thread, &failed), 0);
        ck_assert_ptr_null(failed);
        ck_assert_uint_eq(askers[i].wrong, 0);
        if (i > 0)
            ck_assert_int_eq(HG_Context_destroy(askers[i].context), HG_SUCCESS);
    }
    session_end(&s);
}
END_TEST

START_TEST(several_missing_target_context_fails)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    hg_return_t ret;

    session_begin(&s, _i, NULL);
    rpcs_open(s.hg_class);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(HG_Set_target_id(handle, 255), HG_SUCCESS);
    ret = HG_Forward(handle, call_done, &call, NULL);
    if (ret == HG_SUCCESS) {
        session_quiet(&s);
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ret = call.ret;
    }
    /* A call to self runs on the caller's context. */
    ck_assert((ret == HG_SUCCESS) == s.mode->loopback);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

enum { POOL = 3 };

static void *
trigger_only(void *arg)
{
    struct context_server *server = arg;

    while (!atomic_load(server->stop))
        HG_Trigger(server->context, 20, 1, NULL);
    return NULL;
}

/* One thread progresses, the others trigger. */
static void
serve_by_pool(hg_context_t *context, const _Atomic bool *stop)
{
    struct context_server pool[POOL];

    for (int i = 0; i < POOL; i++) {
        pool[i] = (struct context_server){.context = context, .stop = stop};
        TARGET_ASSERT(
            pthread_create(&pool[i].thread, NULL, trigger_only, &pool[i]) == 0);
    }
    while (!atomic_load(stop))
        HG_Progress(context, 20);
    for (int i = 0; i < POOL; i++)
        TARGET_ASSERT(pthread_join(pool[i].thread, NULL) == 0);
    session_drain(context);
}

static const struct session_setup setup_pool = {
    .open = rpcs_open, .stopping = rpcs_stopping, .serve = serve_by_pool};

START_TEST(several_threads_trigger_while_another_progresses)
{
    struct session s;
    struct call calls[IN_FLIGHT];
    hg_handle_t handles[IN_FLIGHT];
    blob_t in, out;
    uint32_t count = 0;

    if (session_mode_at(_i)->shape == SESSION_SELF ||
        session_mode_at(_i)->thread_mode == NA_THREAD_MODE_SINGLE)
        return;
    session_begin(&s, _i, &setup_pool);
    in = blob_make(100, 1);
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        handles[i] = session_handle(&s, rpcs_id(RPC_ECHO));
    while (count < test_count(TEST_TRIGGER_CALLS)) {
        memset(calls, 0, sizeof calls);
        for (unsigned i = 0; i < IN_FLIGHT; i++)
            ck_assert_int_eq(
                HG_Forward(handles[i], call_done, &calls[i], &in), HG_SUCCESS);
        for (unsigned i = 0; i < IN_FLIGHT; i++) {
            session_wait(&s, &calls[i].called, 1);
            ck_assert_int_eq(calls[i].ret, HG_SUCCESS);
            ck_assert_int_eq(HG_Get_output(handles[i], &out), HG_SUCCESS);
            ck_assert(blob_equal(&in, &out));
            ck_assert_int_eq(HG_Free_output(handles[i], &out), HG_SUCCESS);
        }
        count += IN_FLIGHT;
    }
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        ck_assert_int_eq(HG_Destroy(handles[i]), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

enum { CLIENTS = 4 };

/* At the server: loop iterations without an event. */
struct driven {
    _Atomic uint32_t empty;
    _Atomic uint32_t late; /* a sleep that timed out */
};

static struct driven *
driven(void)
{
    return (struct driven *) ((char *) session_user() + RPCS_USER_OFFSET);
}

/* The server is a loop that sleeps on the descriptor alone. A lost wake-up
 * shows as a sleep that times out. */
static void
serve_by_events(hg_context_t *context, const _Atomic bool *stop)
{
    struct pollfd fd = {.fd = HG_Event_get_wait_fd(context), .events = POLLIN};

    TARGET_ASSERT(fd.fd >= 0);
    while (!atomic_load(stop)) {
        unsigned count = 0;

        if (!HG_Event_ready(context) &&
            poll(&fd, 1, (int) test_count(TEST_WAIT_MS)) == 0)
            atomic_fetch_add(&driven()->late, 1);
        TARGET_ASSERT(HG_Event_progress(context, NULL) == HG_SUCCESS);
        TARGET_ASSERT(HG_Event_trigger(context, 64, &count) == HG_SUCCESS);
        atomic_fetch_add(&driven()->empty, count == 0);
    }
}

/* Calls per client. */
static uint32_t
driven_calls(void)
{
    return test_count(TEST_DRIVEN_CALLS) / CLIENTS /
           (session_is_hosts() ? 10 : 1);
}

/* A client with its own class; waits for each answer. */
static void *
call_all_the_time(void *arg)
{
    struct session *s = arg;
    uint32_t calls = driven_calls();
    hg_class_t *hg_class = session_open_class(s->mode, s->setup, false);
    hg_id_t id = MERCURY_REGISTER(hg_class, "empty", void, void, NULL);
    hg_context_t *context = HG_Context_create(hg_class);
    struct call call = {.called = 0};
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_addr_t target = HG_ADDR_NULL;
    void *failed = NULL;

    if (!context ||
        HG_Addr_lookup2(hg_class, s->address, &target) != HG_SUCCESS ||
        HG_Create(context, target, id, &handle) != HG_SUCCESS)
        return arg;
    for (uint32_t i = 0; i < calls && !failed; i++) {
        call.called = 0;
        if (HG_Forward(handle, call_done, &call, NULL) != HG_SUCCESS)
            failed = arg;
        else
            call_wait(context, &call, 1);
        if (call.ret != HG_SUCCESS)
            failed = arg;
    }
    HG_Destroy(handle);
    HG_Addr_free(hg_class, target);
    if (HG_Context_destroy(context) != HG_SUCCESS ||
        HG_Finalize(hg_class) != HG_SUCCESS)
        failed = arg;
    return failed;
}

static const struct session_setup setup_driven = {
    .open = rpcs_open, .stopping = rpcs_stopping, .serve = serve_by_events};

START_TEST(several_clients_of_an_event_loop)
{
    struct session s;
    pthread_t threads[CLIENTS];
    uint32_t empty;
    void *failed;

    /* Runs once over each transport, between classes that wait. */
    if (session_mode_at(_i)->shape == SESSION_SELF ||
        session_mode_at(_i)->progress_mode & NA_NO_BLOCK ||
        session_mode_at(_i)->thread_mode == NA_THREAD_MODE_SINGLE ||
        session_mode_at(_i)->limits)
        return;
    session_begin(&s, _i, &setup_driven);
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, call_all_the_time, &s), 0);
    for (int i = 0; i < CLIENTS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
        ck_assert_ptr_null(failed);
    }
    ck_assert_uint_eq(
        rpcs_shared()->handled[RPC_EMPTY], driven_calls() * CLIENTS);
    ck_assert_uint_eq(driven()->late, 0);
    /* When idle it sleeps, or polls every 1 ms where no descriptor can wake
     * it. */
    empty = atomic_load(&driven()->empty);
    session_quiet(&s);
    ck_assert_uint_le(atomic_load(&driven()->empty) - empty,
        session_only_polls() ? 2 * test_count(TEST_QUIET_MS) : 20);
    rpcs_stop(&s);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_set_timeout(tcase, 600);
    session_add(tcase, several_contexts_each_in_its_thread);
    session_add(tcase, several_missing_target_context_fails);
    session_add(tcase, several_threads_trigger_while_another_progresses);
    session_add(tcase, several_clients_of_an_event_loop);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "several", add);
}

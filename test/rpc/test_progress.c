/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress and trigger: return values, many threads at once, no lost wake-ups,
 * no busy loops. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4U
#define WINDOW 8U

static const struct session_setup setup = {
    .open = rpcs_open, .stopping = rpcs_stopping};

START_TEST(progress_when_idle_times_out)
{
    struct session s;
    unsigned count = 7;
    uint64_t begin;

    session_begin(&s, _i, &setup);
    ck_assert_int_eq(HG_Progress(s.context, 0), HG_TIMEOUT);
    begin = session_now_ms();
    ck_assert_int_eq(HG_Progress(s.context, 30), HG_TIMEOUT);
    ck_assert_uint_ge(session_now_ms() - begin, 29);
    ck_assert_uint_le(session_now_ms() - begin, 1000);
    ck_assert_int_eq(HG_Trigger(s.context, 0, 1, &count), HG_TIMEOUT);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(HG_Trigger(s.context, 0, 1, NULL), HG_TIMEOUT);
    begin = session_now_ms();
    count = 7;
    ck_assert_int_eq(HG_Trigger(s.context, 30, 1, &count), HG_TIMEOUT);
    ck_assert_uint_eq(count, 0);
    /* With one thread there is nothing to wait for. */
    if (s.mode->thread_mode == 0)
        ck_assert_uint_ge(session_now_ms() - begin, 29);
    ck_assert_int_eq(HG_Progress(NULL, 0), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Trigger(NULL, 0, 1, &count), HG_INVALID_ARG);
    session_end(&s);
}
END_TEST

static _Thread_local unsigned yields;

/* Replaces the C library's sched_yield. */
int
sched_yield(void)
{
    yields++;
    return (int) syscall(SYS_sched_yield);
}

/* A polling loop may keep the thread that it waits for off the processor. */
START_TEST(progress_idle_polls_yield)
{
    struct session s;
    unsigned before;

    session_begin(&s, _i, &setup);
    before = yields;
    for (int i = 0; i < 2000; i++)
        ck_assert_int_eq(HG_Progress(s.context, 0), HG_TIMEOUT);
    ck_assert_uint_ge(yields - before, 2);
    session_end(&s);
}
END_TEST

START_TEST(progress_succeeds_while_something_is_due)
{
    struct session s;
    struct call calls[5];
    unsigned count = 7;

    memset(calls, 0, sizeof calls);
    session_begin(&s, _i, &setup);
    /* Forwards that need no peer: they complete as soon as they are sent. */
    for (unsigned i = 0; i < 5; i++) {
        hg_handle_t handle = session_handle(&s, rpcs_id(RPC_NOTIFY));
        uint64_t value = 1;

        ck_assert_int_eq(
            HG_Forward(handle, call_done, &calls[i], &value), HG_SUCCESS);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    session_wait(&s, &calls[0].called, 1);
    session_quiet(&s);
    for (unsigned i = 0; i < 5; i++)
        ck_assert_uint_eq(calls[i].called, 1);
    if (s.mode->shape != SESSION_SELF) {
        hg_handle_t handle = session_handle(&s, rpcs_id(RPC_EMPTY));

        memset(calls, 0, sizeof calls);
        ck_assert_int_eq(
            HG_Forward(handle, call_done, &calls[0], NULL), HG_SUCCESS);
        ck_assert_int_eq(
            HG_Progress(s.context, test_count(TEST_WAIT_MS)), HG_SUCCESS);
        ck_assert_int_eq(HG_Progress(s.context, 0), HG_SUCCESS);
        ck_assert_int_eq(HG_Progress(s.context, 1000), HG_SUCCESS);
        ck_assert_uint_eq(calls[0].called, 0);
        ck_assert_int_eq(HG_Trigger(s.context, 0, 0, &count), HG_SUCCESS);
        ck_assert_uint_eq(count, 0);
        ck_assert_int_eq(HG_Trigger(s.context, 0, 10, &count), HG_SUCCESS);
        ck_assert_uint_eq(count, 1);
        ck_assert_uint_eq(calls[0].called, 1);
        ck_assert_int_eq(HG_Trigger(s.context, 0, 10, &count), HG_TIMEOUT);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    session_end(&s);
}
END_TEST

START_TEST(trigger_runs_at_most_max_count)
{
    struct session s;
    struct call calls[10];
    unsigned count = 0, total = 0;

    memset(calls, 0, sizeof calls);
    session_begin(&s, _i, &setup);
    for (unsigned i = 0; i < 10; i++) {
        hg_handle_t handle = session_handle(&s, rpcs_id(RPC_NOTIFY));
        uint64_t value = 1;

        ck_assert_int_eq(
            HG_Forward(handle, call_done, &calls[i], &value), HG_SUCCESS);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    for (unsigned turn = 0; turn < 10000; turn++) {
        unsigned before = total;

        HG_Progress(s.context, 1);
        HG_Trigger(s.context, 0, 3, &count);
        ck_assert_uint_le(count, 3);
        total = 0;
        for (unsigned i = 0; i < 10; i++)
            total += calls[i].called;
        ck_assert_uint_le(total - before, count);
        if (total == 10)
            break;
    }
    ck_assert_uint_eq(total, 10);
    session_end(&s);
}
END_TEST

struct waiting {
    hg_context_t *context;
    _Atomic bool stop;
};

static void *
trigger_with_timeout(void *arg)
{
    struct waiting *waiting = arg;

    while (!atomic_load(&waiting->stop)) {
        unsigned count;
        hg_return_t ret = HG_Trigger(waiting->context, 20, 4, &count);

        ck_assert(ret == HG_SUCCESS || ret == HG_TIMEOUT);
        ck_assert_int_eq(ret == HG_SUCCESS, count > 0);
    }
    return NULL;
}

/* One thread progresses, another triggers. */
START_TEST(trigger_waits_while_another_thread_progresses)
{
    struct session s;
    struct waiting waiting = {.stop = false};
    struct call call = {.called = 0};
    pthread_t thread;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    if (s.mode->thread_mode == 0) {
        waiting.context = s.context;
        ck_assert_int_eq(
            pthread_create(&thread, NULL, trigger_with_timeout, &waiting), 0);
        handle = session_handle(&s, rpcs_id(RPC_EMPTY));
        for (uint32_t i = 1; i <= test_count(TEST_TRIGGER_CALLS); i++) {
            ck_assert_int_eq(
                HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
            while (call.called < i) {
                /* This thread is not woken when the other runs the callback. */
                hg_return_t ret = HG_Progress(s.context, 1);

                ck_assert(ret == HG_SUCCESS || ret == HG_TIMEOUT);
                sched_yield();
            }
            /* Its callback has run, but may not have returned. */
            while (HG_Ref_get(handle) > 1)
                sched_yield();
        }
        atomic_store(&waiting.stop, true);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    session_end(&s);
}
END_TEST

/* A thread that progresses and triggers until stop is set. */
struct worker {
    pthread_t thread;
    hg_context_t *context;
    const _Atomic bool *stop;
};

static void *
work(void *arg)
{
    struct worker *worker = arg;

    while (!atomic_load(worker->stop)) {
        hg_return_t ret = HG_Progress(worker->context, 10);

        TARGET_ASSERT(ret == HG_SUCCESS || ret == HG_TIMEOUT);
        while (HG_Trigger(worker->context, 0, 4, NULL) == HG_SUCCESS)
            ;
    }
    return NULL;
}

/* As many as this mode allows. */
static unsigned server_threads;

static void
serve_with_threads(hg_context_t *context, const _Atomic bool *stop)
{
    struct worker workers[THREADS];

    for (unsigned i = 0; i < server_threads; i++) {
        workers[i] = (struct worker){.context = context, .stop = stop};
        TARGET_ASSERT(
            pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    }
    for (unsigned i = 0; i < server_threads; i++)
        pthread_join(workers[i].thread, NULL);
}

static const struct session_setup setup_threads = {
    .open = rpcs_open, .stopping = rpcs_stopping, .serve = serve_with_threads};

/* One client: a class and a thread of its own, several calls in flight. */
struct client {
    pthread_t thread;
    const struct session *session;
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t target;
    uint32_t seed;
    uint32_t done;
    uint32_t started;
};

struct client_call {
    struct client *client;
    hg_handle_t handle;
    blob_t blob;
};

static hg_return_t client_answered(const struct hg_cb_info *info);

static void
client_forward(struct client_call *call)
{
    struct client *client = call->client;

    client->started++;
    call->blob = blob_make(4 + client->started % 60, client->seed++);
    ck_assert_int_eq(
        HG_Forward(call->handle, client_answered, call, &call->blob),
        HG_SUCCESS);
}

static hg_return_t
client_answered(const struct hg_cb_info *info)
{
    struct client_call *call = info->arg;
    blob_t out;

    ck_assert_int_eq(info->ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(call->handle, &out), HG_SUCCESS);
    ck_assert(blob_equal(&out, &call->blob));
    ck_assert_int_eq(HG_Free_output(call->handle, &out), HG_SUCCESS);
    blob_free(&call->blob);
    call->client->done++;
    if (call->client->started < test_count(TEST_PROGRESS_CALLS))
        client_forward(call);
    return HG_SUCCESS;
}

static void *
run_client(void *arg)
{
    struct client *client = arg;
    struct client_call calls[WINDOW];

    for (unsigned i = 0; i < WINDOW; i++) {
        calls[i] = (struct client_call){.client = client};
        ck_assert_int_eq(HG_Create(client->context, client->target,
                             rpcs_id(RPC_ECHO), &calls[i].handle),
            HG_SUCCESS);
        client_forward(&calls[i]);
    }
    while (client->done < test_count(TEST_PROGRESS_CALLS)) {
        ck_assert_int_eq(
            HG_Progress(client->context, test_count(TEST_WAIT_MS)), HG_SUCCESS);
        while (HG_Trigger(client->context, 0, 1, NULL) == HG_SUCCESS)
            ;
    }
    for (unsigned i = 0; i < WINDOW; i++)
        ck_assert_int_eq(HG_Destroy(calls[i].handle), HG_SUCCESS);
    return NULL;
}

static void
client_open(struct client *client, const struct session *s)
{
    client->session = s;
    client->hg_class = session_open_class(s->mode, s->setup, false);
    ck_assert_ptr_nonnull(client->hg_class);
    rpcs_open(client->hg_class);
    client->context = HG_Context_create(client->hg_class);
    ck_assert_ptr_nonnull(client->context);
    ck_assert_int_eq(
        HG_Addr_lookup2(client->hg_class, s->address, &client->target),
        HG_SUCCESS);
}

static void
client_close(struct client *client)
{
    ck_assert_int_eq(
        HG_Addr_free(client->hg_class, client->target), HG_SUCCESS);
    ck_assert_int_eq(HG_Context_destroy(client->context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(client->hg_class), HG_SUCCESS);
}

START_TEST(progress_by_four_threads_for_four_clients)
{
    struct session s;
    struct client clients[THREADS];

    memset(clients, 0, sizeof clients);
    server_threads = session_mode_at(_i)->thread_mode == 0 ? THREADS : 1;
    session_begin(&s, _i, &setup_threads);
    if (s.mode->thread_mode == 0 && s.mode->shape != SESSION_SELF) {
        for (unsigned i = 0; i < THREADS; i++)
            client_open(&clients[i], &s);
        for (unsigned i = 0; i < THREADS; i++) {
            clients[i].seed = i << 20;
            ck_assert_int_eq(pthread_create(&clients[i].thread, NULL,
                                 run_client, &clients[i]),
                0);
        }
        for (unsigned i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_join(clients[i].thread, NULL), 0);
        for (unsigned i = 0; i < THREADS; i++)
            client_close(&clients[i]);
        ck_assert_uint_eq(rpcs_shared()->handled[RPC_ECHO],
            THREADS * test_count(TEST_PROGRESS_CALLS));
    }
    session_end(&s);
}
END_TEST

/* Several threads share one origin context: any of them may run any
 * callback. */
struct sharer {
    pthread_t thread;
    struct session *session;
    struct call call;
};

static void *
share(void *arg)
{
    struct sharer *sharer = arg;
    hg_context_t *context = sharer->session->context;
    hg_handle_t handle;

    ck_assert_int_eq(HG_Create(context, sharer->session->target,
                         rpcs_id(RPC_EMPTY), &handle),
        HG_SUCCESS);
    for (uint32_t i = 1; i <= test_count(TEST_PROGRESS_CALLS); i++) {
        ck_assert_int_eq(
            HG_Forward(handle, call_done, &sharer->call, NULL), HG_SUCCESS);
        while (atomic_load(&sharer->call.called) < i) {
            hg_return_t ret = HG_Progress(context, 5);

            ck_assert(ret == HG_SUCCESS || ret == HG_TIMEOUT);
            while (HG_Trigger(context, 0, 4, NULL) == HG_SUCCESS)
                ;
        }
        ck_assert_int_eq(sharer->call.ret, HG_SUCCESS);
    }
    while (HG_Ref_get(handle) > 1)
        sched_yield();
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    return NULL;
}

START_TEST(progress_of_one_context_by_four_threads)
{
    struct session s;
    struct sharer sharers[THREADS];

    memset(sharers, 0, sizeof sharers);
    session_begin(&s, _i, &setup);
    if (s.mode->thread_mode == 0) {
        for (unsigned i = 0; i < THREADS; i++) {
            sharers[i].session = &s;
            ck_assert_int_eq(
                pthread_create(&sharers[i].thread, NULL, share, &sharers[i]),
                0);
        }
        for (unsigned i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_join(sharers[i].thread, NULL), 0);
        ck_assert_uint_eq(rpcs_shared()->handled[RPC_EMPTY],
            THREADS * test_count(TEST_PROGRESS_CALLS));
    }
    session_end(&s);
}
END_TEST

static void
serve_with_long_waits(hg_context_t *context, const _Atomic bool *stop)
{
    while (!atomic_load(stop)) {
        TARGET_ASSERT(
            HG_Progress(context, test_count(TEST_WAIT_MS)) == HG_SUCCESS);
        while (HG_Trigger(context, 0, 1, NULL) == HG_SUCCESS)
            ;
    }
}

static const struct session_setup setup_long = {.open = rpcs_open,
    .stopping = rpcs_stopping,
    .serve = serve_with_long_waits};

/* Both sides wait without a timeout that would hide a lost wake-up. The origin
 * pauses in between, so that the target falls asleep at every stage. */
START_TEST(progress_loses_no_wake_up)
{
    struct session s;
    hg_handle_t handle;

    session_begin(&s, _i, &setup_long);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    for (uint32_t i = 0; i < test_count(TEST_EVENT_CALLS); i++) {
        struct timespec pause = {.tv_nsec = (i * 7919L) % 150000};
        uint64_t begin;

        if (i % 4 == 0)
            nanosleep(&pause, NULL);
        begin = session_now_ms();
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
        /* Limit per call: the total depends on the load of the machine. */
        ck_assert_uint_lt(
            session_now_ms() - begin, test_count(TEST_WAIT_MS) / 2);
    }
    rpcs_stop(&s);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void *
progress_long(void *arg)
{
    hg_context_t *context = arg;
    hg_return_t ret = HG_Progress(context, test_count(TEST_WAIT_MS));

    return ret == HG_SUCCESS ? NULL : arg;
}

static hg_return_t
free_address(const struct hg_cb_info *info)
{
    return HG_Addr_free((hg_class_t *) info->arg, info->info.lookup.addr);
}

/* A thread sleeps in progress; another submits an operation that completes at
 * once. */
START_TEST(progress_is_woken_by_completion_in_another_thread)
{
    struct session s;
    pthread_t thread;
    void *failed;
    uint64_t begin;
    struct timespec pause = {.tv_nsec = 2000000};

    session_begin(&s, _i, &setup);
    if (s.mode->thread_mode == 0) {
        begin = session_now_ms();
        for (unsigned i = 0; i < 10; i++) {
            ck_assert_int_eq(
                pthread_create(&thread, NULL, progress_long, s.context), 0);
            nanosleep(&pause, NULL);
            ck_assert_int_eq(HG_Addr_lookup1(s.context, free_address,
                                 s.hg_class, s.address, NULL),
                HG_SUCCESS);
            ck_assert_int_eq(pthread_join(thread, &failed), 0);
            ck_assert_ptr_null(failed);
            ck_assert_int_eq(HG_Trigger(s.context, 0, 1, NULL), HG_SUCCESS);
        }
        ck_assert_uint_lt(
            session_now_ms() - begin, test_count(TEST_WAIT_MS) / 2);
    }
    session_end(&s);
}
END_TEST

/* One thread leads, the other waits for it: a completion wakes both. */
START_TEST(progress_of_two_threads_wakes_both)
{
    struct session s;
    pthread_t threads[2];
    void *failed;
    struct timespec pause = {.tv_nsec = 2000000};
    uint64_t begin;

    session_begin(&s, _i, &setup);
    if (s.mode->thread_mode == 0) {
        begin = session_now_ms();
        for (unsigned i = 0; i < 10; i++) {
            for (unsigned t = 0; t < 2; t++)
                ck_assert_int_eq(
                    pthread_create(&threads[t], NULL, progress_long, s.context),
                    0);
            nanosleep(&pause, NULL);
            ck_assert_int_eq(HG_Addr_lookup1(s.context, free_address,
                                 s.hg_class, s.address, NULL),
                HG_SUCCESS);
            for (unsigned t = 0; t < 2; t++) {
                ck_assert_int_eq(pthread_join(threads[t], &failed), 0);
                ck_assert_ptr_null(failed);
            }
            ck_assert_int_eq(HG_Trigger(s.context, 0, 1, NULL), HG_SUCCESS);
        }
        ck_assert_uint_lt(
            session_now_ms() - begin, test_count(TEST_WAIT_MS) / 2);
    }
    session_end(&s);
}
END_TEST

static uint64_t
processor_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

START_TEST(progress_waiting_uses_no_processor)
{
    struct session s;
    uint64_t begin;

    session_begin(&s, _i, &setup);
    if (s.mode->progress_mode == 0 && !s.mode->limits) {
        begin = processor_ms();
        ck_assert_int_eq(HG_Progress(s.context, 300), HG_TIMEOUT);
        ck_assert_uint_le(processor_ms() - begin, 30);
    }
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, progress_when_idle_times_out);
    session_add(tcase, progress_idle_polls_yield);
    session_add(tcase, progress_succeeds_while_something_is_due);
    session_add(tcase, trigger_runs_at_most_max_count);
    session_add(tcase, trigger_waits_while_another_thread_progresses);
    session_add(tcase, progress_by_four_threads_for_four_clients);
    session_add(tcase, progress_of_one_context_by_four_threads);
    session_add(tcase, progress_loses_no_wake_up);
    session_add(tcase, progress_is_woken_by_completion_in_another_thread);
    session_add(tcase, progress_of_two_threads_wakes_both);
    session_add(tcase, progress_waiting_uses_no_processor);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "progress", add);
}

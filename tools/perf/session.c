/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of a session poll while a round runs and sleep otherwise, so that
 * a busy target uses no processor between rounds. */
#include "perf/session.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "perf/clock.h"

/* For busy threads to pause. */
#define PAUSE_NS (50 * PERF_MS_NS)

enum state { PAUSED, RUNNING, ENDING };

struct thread {
    pthread_t id;
    struct perf_session *session;
    struct perf_target *target;
    uint32_t context;
    bool works; /* answers requests of the progress thread */
    char *scratch;
};

struct perf_session {
    struct perf_plan plan;
    struct perf_faults faults;
    struct perf_failure failure;
    struct perf_target *targets[PERF_CLASSES_MAX];
    struct thread *threads;
    uint32_t started;
    pthread_mutex_t lock; /* guards: */
    pthread_cond_t changed;
    uint32_t asleep; /* threads that sleep */
    _Atomic enum state state;
};

static enum state
state_of(const struct perf_session *session)
{
    return atomic_load_explicit(&session->state, memory_order_relaxed);
}

static void
sleep_paused(struct perf_session *session)
{
    pthread_mutex_lock(&session->lock);
    session->asleep++;
    pthread_cond_broadcast(&session->changed);
    while (state_of(session) == PAUSED)
        pthread_cond_wait(&session->changed, &session->lock);
    session->asleep--;
    pthread_mutex_unlock(&session->lock);
}

static void *
serve(void *arg)
{
    struct thread *thread = arg;
    struct perf_session *session = thread->session;
    unsigned int timeout = perf_plan_timeout(&session->plan);
    enum perf_poll polled;
    enum state state;

    perf_target_scratch = thread->scratch;
    while ((state = state_of(session)) != ENDING) {
        if (state == PAUSED) {
            sleep_paused(session);
            continue;
        }
        polled =
            thread->works
                ? thread->target->ops->work(thread->target, timeout)
                : perf_target_poll(thread->target, thread->context, timeout);
        if (polled == PERF_POLL_FAILED)
            break;
    }
    return NULL;
}

static void
set_state(struct perf_session *session, enum state state)
{
    pthread_mutex_lock(&session->lock);
    atomic_store_explicit(&session->state, state, memory_order_relaxed);
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
}

/* Waits until busy threads sleep; those that wait in the transport use no
 * processor. */
static void
wait_asleep(struct perf_session *session)
{
    uint64_t deadline = perf_clock_now() + PAUSE_NS;
    struct timespec until;
    int error = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long) (PAUSE_NS);
    if (until.tv_nsec >= (long) PERF_SECOND_NS) {
        until.tv_nsec -= (long) PERF_SECOND_NS;
        until.tv_sec++;
    }
    pthread_mutex_lock(&session->lock);
    while (session->asleep < session->started && error == 0 &&
           perf_clock_now() < deadline)
        error =
            pthread_cond_timedwait(&session->changed, &session->lock, &until);
    pthread_mutex_unlock(&session->lock);
}

void
perf_session_run(struct perf_session *session, bool run)
{
    set_state(session, run ? RUNNING : PAUSED);
    if (!run && session->plan.busy)
        wait_asleep(session);
}

bool
perf_session_is_running(const struct perf_session *session)
{
    return state_of(session) == RUNNING;
}

bool
perf_session_describe(
    struct perf_session *session, uint32_t index, struct perf_remote *remote)
{
    if (index >= session->plan.classes)
        return false;
    return session->targets[index]->ops->describe(
        session->targets[index], remote);
}

const struct perf_faults *
perf_session_faults(const struct perf_session *session)
{
    return &session->faults;
}

struct perf_failure *
perf_session_failure(struct perf_session *session)
{
    return &session->failure;
}

static bool
open_targets(struct perf_session *session, const char *info)
{
    struct perf_target_setup setup = {.plan = &session->plan,
        .info = info,
        .failure = &session->failure,
        .faults = &session->faults};

    for (uint32_t i = 0; i < session->plan.classes; i++) {
        session->targets[i] = perf_target_open(&setup);
        if (!session->targets[i])
            return false;
    }
    return true;
}

static bool
start_threads(struct perf_session *session)
{
    const struct perf_plan *plan = &session->plan;
    uint32_t loops = perf_plan_loops(plan);

    session->threads =
        calloc(perf_plan_threads(plan), sizeof *session->threads);
    if (!session->threads) {
        perf_failure_set(&session->failure, "out of memory");
        return false;
    }
    for (uint32_t i = 0; i < perf_plan_threads(plan); i++) {
        struct thread *thread = &session->threads[i];
        bool progresses = i >= loops;
        int error;

        thread->session = session;
        thread->works = plan->progress_thread && !progresses;
        thread->target =
            session->targets[progresses ? (i - loops) / plan->contexts
                                        : i / plan->threads];
        thread->context =
            (progresses ? i - loops : i % plan->threads) % plan->contexts;
        thread->scratch = perf_target_scratch_create(plan);
        error = thread->scratch
                    ? pthread_create(&thread->id, NULL, serve, thread)
                    : ENOMEM;
        if (error != 0) {
            free(thread->scratch);
            perf_failure_set(&session->failure, "cannot start a thread: %s",
                strerror(error));
            return false;
        }
        session->started++;
    }
    return true;
}

struct perf_session *
perf_session_open(const struct perf_plan *plan, const char *info,
    struct perf_failure *failure)
{
    struct perf_session *session = calloc(1, sizeof *session);

    if (!session) {
        perf_failure_set(failure, "out of memory");
        return NULL;
    }
    session->plan = *plan;
    pthread_mutex_init(&session->lock, NULL);
    pthread_cond_init(&session->changed, NULL);
    if (open_targets(session, info) && start_threads(session))
        return session;
    perf_failure_set(failure, "%s", perf_failure_text(&session->failure));
    perf_session_close(session);
    return NULL;
}

void
perf_session_close(struct perf_session *session)
{
    set_state(session, ENDING);
    for (uint32_t i = 0; i < session->started; i++) {
        pthread_join(session->threads[i].id, NULL);
        free(session->threads[i].scratch);
    }
    for (uint32_t i = 0; i < session->plan.classes; i++)
        if (session->targets[i])
            session->targets[i]->ops->close(session->targets[i]);
    pthread_cond_destroy(&session->changed);
    pthread_mutex_destroy(&session->lock);
    free(session->threads);
    free(session);
}

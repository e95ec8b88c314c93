/* SPDX-License-Identifier: BSD-3-Clause */
/* The target of a case, in a thread or process of its own: its loop, its
 * address, its end. */
#include "session_internal.h"

#include "log_watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Leaks of a child are checked before it calls _exit. */
void __lsan_do_leak_check(void) __attribute__((weak));

void
session_write_address(const struct session *session, hg_class_t *hg_class)
{
    char text[sizeof session->address] = "";
    hg_size_t size = sizeof text;
    hg_addr_t addr;

    if (HG_Addr_self(hg_class, &addr) == HG_SUCCESS) {
        HG_Addr_to_string(hg_class, text, &size, addr);
        HG_Addr_free(hg_class, addr);
    }
    if (write(session->pipe[1], text, sizeof text) != sizeof text)
        abort();
}

static bool
serve_default(hg_context_t *context, const _Atomic bool *stop)
{
    while (!atomic_load(stop)) {
        hg_return_t ret = HG_Progress(context, SERVE_STEP_MS);

        if (ret != HG_SUCCESS && ret != HG_TIMEOUT)
            return false;
        while (HG_Trigger(context, 0, 16, NULL) == HG_SUCCESS)
            ;
    }
    return true;
}

/* Runs the target. Returns 0, or the line at which it failed. */
static int
serve(const struct session *session)
{
    hg_class_t *hg_class;
    hg_context_t *context;

    hg_class = session_open_class(session->mode, session->setup, true);
    if (!hg_class)
        return __LINE__;
    if (session->setup->open)
        session->setup->open(hg_class);
    context = HG_Context_create(hg_class);
    if (!context)
        return __LINE__;
    if (session->setup->started)
        session->setup->started(context);
    session_write_address(session, hg_class);
    if (session->setup->serve)
        session->setup->serve(context, &session->shared->stop);
    else if (!serve_default(context, &session->shared->stop))
        return __LINE__;
    if (session->setup->stopping)
        session->setup->stopping();
    session_drain(context);
    if (HG_Context_destroy(context) != HG_SUCCESS)
        return __LINE__;
    if (HG_Finalize(hg_class) != HG_SUCCESS)
        return __LINE__;
    return 0;
}

static void *
serve_in_thread(void *arg)
{
    struct session *session = arg;
    int failed = serve(session);

    atomic_store(&session->shared->failed, failed);
    if (failed != 0)
        close(session->pipe[1]);
    return NULL;
}

static void
serve_in_process(const struct session *session)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(session->pipe[0]);
    log_watch_install();
    atomic_store(&session->shared->failed, serve(session));
    HG_Cleanup();
    if (__lsan_do_leak_check)
        __lsan_do_leak_check();
    _exit(0);
}

void
session_start_target(struct session *session)
{
    switch (session->mode->shape) {
    case SESSION_SELF:
        return;
    case SESSION_THREADS:
        log_watch_install();
        ck_assert_int_eq(
            pthread_create(&session->thread, NULL, serve_in_thread, session),
            0);
        break;
    case SESSION_PROCESSES:
        session->process = fork();
        ck_assert_int_ge(session->process, 0);
        if (session->process == 0)
            serve_in_process(session);
        close(session->pipe[1]);
        session->pipe[1] = -1;
        log_watch_install();
        break;
    }
}

void
session_kill(struct session *session)
{
    int status;

    if (session->process < 0) {
        loop_kill(session->address);
        return;
    }
    ck_assert_int_eq(kill(session->process, SIGKILL), 0);
    ck_assert_int_eq(waitpid(session->process, &status, 0), session->process);
    session->process = -1;
}

static bool
target_has_ended(struct session *session, int *status)
{
    if (session->mode->shape == SESSION_THREADS) {
        int error = pthread_tryjoin_np(session->thread, NULL);

        ck_assert(error == 0 || error == EBUSY);
        return error == 0;
    }
    if (session->process >= 0) {
        pid_t ended = waitpid(session->process, status, WNOHANG);

        ck_assert_int_ge(ended, 0);
        return ended == session->process;
    }
    return true;
}

/* The target's last send may complete only when the origin receives it. */
void
session_join_target(struct session *session)
{
    uint64_t deadline = session_now_ms() + session_wait_ms();
    int status = 0;

    session_stop(session);
    while (!target_has_ended(session, &status)) {
        if (session_now_ms() >= deadline)
            session_fail("the target was stopped but has not ended, in mode "
                         "\"%s\"",
                session->mode->name);
        session_step(session, SERVE_STEP_MS);
    }
    ck_assert_int_eq(status, 0);
    ck_assert_msg(atomic_load(&session->shared->failed) == 0,
        "the target failed in line %d of session_target.c",
        atomic_load(&session->shared->failed));
}

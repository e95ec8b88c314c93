/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress at the origin until an event; calls. */
#include "counts.h"
#include "session_internal.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

uint64_t
session_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

void
session_step(struct session *session, unsigned timeout_ms)
{
    hg_return_t ret = HG_Progress(session->context, timeout_ms);

    /* libcheck records each passing assertion, which is slow in such a loop. */
    if (ret != HG_SUCCESS && ret != HG_TIMEOUT)
        ck_abort_msg("HG_Progress: %s", HG_Error_to_string(ret));
    while (HG_Trigger(session->context, 0, 1, NULL) == HG_SUCCESS)
        ;
}

/* Timeouts so far in all cases of the program; each case is a process. */
static _Atomic uint32_t *timeouts;

void
session_wait_prepare(void)
{
    void *page = mmap(NULL, sizeof *timeouts, PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    timeouts = page == MAP_FAILED ? NULL : page;
}

uint32_t
session_wait_ms(void)
{
    uint32_t ms = test_count(TEST_WAIT_MS);

    return timeouts && atomic_load(timeouts) >= 2 ? ms / 10 : ms;
}

void
session_fail(const char *format, ...)
{
    char text[600];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (timeouts)
        atomic_fetch_add(timeouts, 1);
    /* libcheck prints messages only after all cases. */
    fprintf(stderr, "%s\n", text);
    ck_abort_msg("%s", text);
}

/* What is still pending, where known: nothing, if the core lost a callback. */
static const char *
pending(void)
{
    static char text[256];

    if (!session_is_loop())
        return "";
    loop_describe(text, sizeof text);
    return text;
}

void
session_wait_at(struct session *session, const _Atomic uint32_t *counter,
    uint32_t value, bool other, const char *what, const char *file, int line)
{
    uint64_t deadline = session_now_ms() + session_wait_ms();
    unsigned step_ms = other ? 1 : test_count(TEST_WAIT_MS);

    while (atomic_load(counter) < value) {
        uint64_t now = session_now_ms();

        if (now >= deadline)
            session_fail("%s:%d timed out waiting for %s: %u of %u, in mode "
                         "\"%s\"%s",
                file, line, what, atomic_load(counter), value,
                session->mode->name, pending());
        session_step(session,
            deadline - now < step_ms ? (unsigned) (deadline - now) : step_ms);
    }
}

void
call_wait_at(hg_context_t *context, const struct call *call, uint32_t count,
    const char *what, const char *file, int line)
{
    uint64_t deadline = session_now_ms() + session_wait_ms();

    while (atomic_load(&call->called) < count) {
        uint64_t now = session_now_ms();

        if (now >= deadline)
            session_fail("%s:%d timed out: %u of %u callbacks of %s have run%s",
                file, line, atomic_load(&call->called), count, what, pending());
        HG_Progress(context, (unsigned) (deadline - now));
        while (HG_Trigger(context, 0, 1, NULL) == HG_SUCCESS)
            ;
    }
}

static const char *limited_mode;

static void
limit_reached(int signal)
{
    (void) signal;
    session_fail("the case reached its time limit in mode \"%s\"%s",
        limited_mode, pending());
}

void
session_limit(const struct session_mode *mode)
{
    static const unsigned spare_s = 5;
    const char *timeout = getenv("CK_DEFAULT_TIMEOUT");
    const char *times = getenv("CK_TIMEOUT_MULTIPLIER");
    unsigned limit_s =
        (unsigned) ((timeout ? atof(timeout) : 0) * (times ? atof(times) : 1));

    limited_mode = mode->name;
    if (limit_s <= 2 * spare_s)
        return;
    signal(SIGALRM, limit_reached);
    alarm(limit_s - spare_s);
}

void
session_quiet(struct session *session)
{
    uint64_t end = session_now_ms() + test_count(TEST_QUIET_MS);

    while (session_now_ms() < end)
        session_step(session, 5);
}

hg_return_t
call_done(const struct hg_cb_info *info)
{
    struct call *call = info->arg;

    call->ret = info->ret;
    call->type = info->type;
    if (info->type == HG_CB_FORWARD)
        call->handle = info->info.forward.handle;
    if (info->type == HG_CB_RESPOND)
        call->handle = info->info.respond.handle;
    if (info->type == HG_CB_BULK)
        call->size = info->info.bulk.size;
    atomic_fetch_add(&call->called, 1);
    return HG_SUCCESS;
}

hg_handle_t
session_handle(struct session *session, hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    ck_assert_int_eq(
        HG_Create(session->context, session->target, id, &handle), HG_SUCCESS);
    return handle;
}

hg_return_t
session_forward_at(struct session *session, hg_handle_t handle, void *in_struct,
    const char *file, int line)
{
    struct call call = {.called = 0};
    hg_return_t ret = HG_Forward(handle, call_done, &call, in_struct);

    if (ret != HG_SUCCESS)
        return ret;
    session_wait_at(session, &call.called, 1, false,
        "the callback of HG_Forward", file, line);
    ck_assert_uint_eq(call.called, 1);
    ck_assert_ptr_eq(call.handle, handle);
    return call.ret;
}

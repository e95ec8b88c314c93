/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts and ends the two sides of a case. */
#include "session_internal.h"

#include "log_watch.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct session_shared *current;

void *
session_user(void)
{
    return current->user;
}

void
session_target_failed(const char *file, int line, const char *text)
{
    if (!atomic_exchange(&current->target_failed, true))
        snprintf(current->failure, sizeof current->failure,
            "%s:%d at the target: %s", file, line, text);
}

void
session_drain(hg_context_t *context)
{
    unsigned count;

    do {
        HG_Progress(context, 0);
        count = 0;
        HG_Trigger(context, 0, 64, &count);
    } while (count > 0);
}

static void
open_origin(struct session *session)
{
    bool self = session->mode->shape == SESSION_SELF;

    session->hg_class = session_open_class(
        session->mode, session->setup, self || session->setup->origin_listens);
    ck_assert_ptr_nonnull(session->hg_class);
    if (session->setup->open)
        session->setup->open(session->hg_class);
    session->context = HG_Context_create(session->hg_class);
    ck_assert_ptr_nonnull(session->context);
    if (self && session->setup->started)
        session->setup->started(session->context);
    if (self)
        session_write_address(session, session->hg_class);
}

/* The target's address is published once its RPCs are registered: both sides
 * store the RPC ids in the same variables, one after the other. */
static void
read_address(struct session *session)
{
    ck_assert_msg(read(session->pipe[0], session->address,
                      sizeof session->address) == sizeof session->address,
        "the target failed in line %d", atomic_load(&session->shared->failed));
}

static void
find_target(struct session *session)
{
    if (session->mode->shape == SESSION_SELF)
        ck_assert_int_eq(
            HG_Addr_self(session->hg_class, &session->target), HG_SUCCESS);
    else
        ck_assert_int_eq(HG_Addr_lookup2(session->hg_class, session->address,
                             &session->target),
            HG_SUCCESS);
}

void
session_begin(
    struct session *session, int mode, const struct session_setup *setup)
{
    static const struct session_setup none;

    memset(session, 0, sizeof *session);
    session->mode = session_mode_at(mode);
    session->setup = setup ? setup : &none;
    session->process = -1;
    session_limit(session->mode);
    session->shared = mmap(NULL, sizeof *session->shared,
        PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(session->shared, MAP_FAILED);
    current = session->shared;
    session->user = current->user;
    ck_assert_int_eq(pipe(session->pipe), 0);
    log_watch_begin();
    session_prepare(session->mode);
    if (session->mode->shape == SESSION_SELF) {
        log_watch_install();
        open_origin(session);
        read_address(session);
    } else {
        session_start_target(session);
        read_address(session);
        open_origin(session);
    }
    find_target(session);
}

void
session_stop(struct session *session)
{
    atomic_store(&session->shared->stop, true);
}

void
session_end(struct session *session)
{
    if (session->mode->shape == SESSION_SELF && session->setup->stopping)
        session->setup->stopping();
    session_drain(session->context);
    session_join_target(session);
    session_drain(session->context);
    ck_assert_int_eq(
        HG_Addr_free(session->hg_class, session->target), HG_SUCCESS);
    ck_assert_int_eq(HG_Context_destroy(session->context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(session->hg_class), HG_SUCCESS);
    HG_Cleanup();
    ck_assert_msg(!atomic_load(&session->shared->target_failed), "%s",
        session->shared->failure);
    close(session->pipe[0]);
    if (session->pipe[1] >= 0)
        close(session->pipe[1]);
    log_watch_check();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* libtalaria-watch: loaded by the core if TALARIA_PUBLISH or TALARIA_TRACE is
 * set, and never unloaded. Its hooks get the stages of observed calls; a thread
 * fills the page and writes the trace. */
#include "hg/watch.h"

#include "hg/watch_layout.h"
#include "watch/call.h"
#include "watch/publish.h"
#include "watch/trace.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Between writes of the trace, milliseconds. */
#define FLUSH_MS 200U

struct hg_watch_core watch_core;

static bool publishing, tracing;

void
watch_peer_address(
    const struct hg_handle *handle, char address[WATCH_ADDRESS_SIZE])
{
    size_t size = WATCH_ADDRESS_SIZE;

    if (!handle->peer.addr ||
        watch_core.address_text(handle->peer.na_class, handle->peer.addr,
            address, &size) != NA_SUCCESS)
        memcpy(address, "?", 2);
}

static void
stage(struct hg_handle *handle, int number, int ret)
{
    if (tracing)
        watch_trace_stage(handle, number, ret);
    if (publishing)
        watch_publish_stage(handle, number, ret);
}

static void
bulk(const struct bulk_op *op)
{
    if (publishing)
        watch_publish_bulk(op);
}

static const struct base_watch hooks = {.stage = stage, .bulk = bulk};

static void *
run(void *arg)
{
    for (;;) {
        if (!publishing) {
            struct timespec time = {.tv_nsec = FLUSH_MS * 1000000L};

            nanosleep(&time, NULL);
        } else if (watch_publish_wait(tracing ? FLUSH_MS : 0)) {
            watch_publish_run();
        }
        if (tracing)
            watch_trace_flush();
    }
    return arg;
}

static void
before_fork(void)
{
    watch_trace_lock();
    watch_publish_lock();
}

static void
after_fork_in_parent(void)
{
    watch_publish_unlock();
    watch_trace_unlock();
}

/* The child has no thread, and its page and trace are the parent's. */
static void
after_fork_in_child(void)
{
    atomic_store_explicit(watch_core.watch, NULL, memory_order_relaxed);
    watch_publish_forked();
    watch_trace_unlock();
    if (tracing)
        atomic_fetch_sub_explicit(
            watch_core.observers, 1, memory_order_relaxed);
    publishing = tracing = false;
}

/* Signals are the program's. */
static int
start_thread(void)
{
    sigset_t all, old;
    pthread_t thread;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (err != 0)
        return err;
    pthread_setname_np(thread, "talaria-watch");
    pthread_detach(thread);
    return 0;
}

static void
warn(const char *what, const char *why)
{
    char text[512];

    snprintf(text, sizeof text, "%s: %s", what, why);
    watch_core.log(text);
}

static bool
start(const struct hg_watch_core *core)
{
    static atomic_flag taken = ATOMIC_FLAG_INIT;
    char reason[256];
    int err;

    if (atomic_flag_test_and_set(&taken)) {
        core->log(
            "TALARIA_PUBLISH, TALARIA_TRACE: of this process another copy "
            "of libtalaria publishes, and traces, already");
        return false;
    }
    watch_core = *core;
    if (core->publish) {
        publishing = watch_publish_init();
        if (!publishing)
            warn("TALARIA_PUBLISH: cannot publish", strerror(errno));
    }
    if (core->trace) {
        tracing = watch_trace_open(core->trace, reason, sizeof reason);
        if (!tracing)
            warn("TALARIA_TRACE: no trace is written", reason);
    }
    if (!publishing && !tracing)
        return false;
    err = start_thread();
    if (err == 0)
        err = pthread_atfork(
            before_fork, after_fork_in_parent, after_fork_in_child);
    if (err != 0) {
        warn("TALARIA_PUBLISH, TALARIA_TRACE: cannot start", strerror(err));
        return true; /* the thread may have started */
    }
    /* Release pairs with the acquire in base_watch_get. */
    atomic_store_explicit(core->watch, &hooks, memory_order_release);
    if (tracing)
        atomic_fetch_add_explicit(core->observers, 1, memory_order_relaxed);
    return true;
}

/* At the end of the process. Other threads may still call. */
__attribute__((destructor)) static void
finish(void)
{
    if (tracing)
        watch_trace_close();
}

extern const struct hg_watch_library talaria_watch;
__attribute__((visibility("default")))
const struct hg_watch_library talaria_watch = {
    .layout = HG_WATCH_LAYOUT, .start = start};

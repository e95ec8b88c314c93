/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An origin and a target for one case: within one class, as two classes of one
 * process with a thread each, or as two processes; polling or waiting. The
 * program gets the transport as its first argument ("na+sm", "loop+mem"),
 * followed by "auto_sm" to open na+sm beside it, and runs each case in each
 * mode. Followed by "one": only between processes, unless in a soak. Followed
 * by "threads": only modes in which both sides have a thread, for programs
 * whose cases start none themselves.
 */
#ifndef SESSION_H
#define SESSION_H

#include "loop_plugin.h"
#include "mercury.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#define SESSION_USER_SIZE 16384U

enum session_shape { SESSION_SELF, SESSION_THREADS, SESSION_PROCESSES };

struct session_mode {
    const char *name;
    enum session_shape shape;
    uint8_t progress_mode;
    uint8_t thread_mode;
    /* loop plugin: limits, or NULL for the defaults */
    const struct loop_limits *limits;
    bool late;     /* loop plugin: sends complete later */
    bool loopback; /* SESSION_SELF: without the transport */
};

/* Options of a case, for both sides. Each may be NULL. */
struct session_setup {
    void (*init)(struct hg_init_info *info); /* options */
    void (*open)(hg_class_t *hg_class);      /* registers RPCs */
    void (*started)(hg_context_t *context);  /* target only */
    void (*stopping)(void);                  /* target only; cleans up */
    bool origin_listens;
    /* Replaces the target's loop; returns once *stop is set. */
    void (*serve)(hg_context_t *context, const _Atomic bool *stop);
};

struct session_shared;

struct session {
    const struct session_mode *mode;
    const struct session_setup *setup;
    struct session_shared *shared;
    void *user;           /* session_user() */
    hg_class_t *hg_class; /* the origin's */
    hg_context_t *context;
    hg_addr_t target;
    char address[256]; /* the target's */
    int pipe[2];
    pthread_t thread;
    pid_t process; /* -1: no process, or already reaped */
};

/* The transport of this run, and its name without a host ("ofi+tcp" for
 * "ofi+tcp://[::1]"). */
const char *session_transport(void);
const char *session_protocol(void);
bool session_is_loop(void);

/* Whether its addresses are host and port, as opposed to names. */
bool session_is_hosts(void);

/* Whether no event of the transport wakes a sleeping thread, which then polls
 * every millisecond. */
bool session_only_polls(void);

/* First mode and number after the last one, for tcase_add_loop_test; and a
 * mode. */
int session_first_mode(void);
int session_modes(void);
const struct session_mode *session_mode_at(int mode);

/* Configures the loop plugin for a mode and registers it, if it is the
 * transport. Called by session_begin. Calls nothing else of the library. */
void session_prepare(const struct session_mode *mode);

/* Starts both sides; fails the test if that fails. Call it before any call
 * into the library. */
void session_begin(
    struct session *session, int mode, const struct session_setup *setup);

/* Ends both sides. Fails the test if anything leaked or an unexpected line was
 * logged. */
void session_end(struct session *session);

/* Sets the target's *stop. A sleeping target sees it at its next wake-up. */
void session_stop(struct session *session);

/* SESSION_USER_SIZE zeroed bytes shared by both sides. Valid in handlers. */
void *session_user(void);

/* Assertion for handlers and other code of the target, where the test cannot be
 * failed at once: session_end fails it. */
#define TARGET_ASSERT(condition)                                               \
    do {                                                                       \
        if (!(condition))                                                      \
            session_target_failed(__FILE__, __LINE__, #condition);             \
    } while (0)
void session_target_failed(const char *file, int line, const char *text);

/* Kills the target's process, or simulates that. */
void session_kill(struct session *session);

/* Opens a class for a mode, with the options of the setup. */
hg_class_t *session_open_class(const struct session_mode *mode,
    const struct session_setup *setup, bool listen);

/* Triggers everything that is due on a context. */
void session_drain(hg_context_t *context);

/* Progresses the origin once, for at most timeout_ms, and triggers. */
void session_step(struct session *session, unsigned timeout_ms);

/* Progresses the origin until *counter, which its callbacks advance, is at
 * least `value`. At a timeout, fails the test and reports the place of the
 * wait. Does not hide lost wake-ups. */
#define session_wait(session, counter, value)                                  \
    session_wait_at(                                                           \
        session, counter, value, false, #counter, __FILE__, __LINE__)

/* The same for a counter that another thread or process advances. */
#define session_wait_other(session, counter, value)                            \
    session_wait_at(session, counter, value, true, #counter, __FILE__, __LINE__)

void session_wait_at(struct session *session, const _Atomic uint32_t *counter,
    uint32_t value, bool other, const char *what, const char *file, int line);

/* Progresses for QUIET_MS, in which nothing should happen. */
void session_quiet(struct session *session);

/* Monotonic time in milliseconds. */
uint64_t session_now_ms(void);

/* Result of one operation. */
struct call {
    _Atomic uint32_t called;
    hg_return_t ret;
    hg_cb_type_t type;
    hg_handle_t handle;
    hg_size_t size; /* id of a transfer */
};

/* Callback whose arg is a struct call, which it fills in. */
hg_return_t call_done(const struct hg_cb_info *info);

/* Progresses and triggers a context until a call has had `called` callbacks. At
 * a timeout, fails the test and reports the place of the wait. For contexts
 * beside the session's, also in other threads. */
#define call_wait(context, call, count)                                        \
    call_wait_at(context, call, count, #call, __FILE__, __LINE__)

void call_wait_at(hg_context_t *context, const struct call *call,
    uint32_t count, const char *what, const char *file, int line);

/* Limit for an expected event in ms: TEST_WAIT_MS, or a tenth of it once some
 * cases of the program have timed out, so that the program ends before its
 * runner kills it. */
uint32_t session_wait_ms(void);

/* Fails the test and prints why to stderr at once. For timeouts. */
void session_fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Fails the test with a message shortly before its runner would kill it.
 * Started by session_begin. */
void session_limit(const struct session_mode *mode);

/* Creates a handle for the target. */
hg_handle_t session_handle(struct session *session, hg_id_t id);

/* Forwards and waits. Returns the result in the callback. */
#define session_forward(session, handle, in_struct)                            \
    session_forward_at(session, handle, in_struct, __FILE__, __LINE__)

hg_return_t session_forward_at(struct session *session, hg_handle_t handle,
    void *in_struct, const char *file, int line);

/* Main of a test program; argv as described above. add: adds the cases. */
int session_main(
    int argc, char **argv, const char *name, void (*add)(TCase *tcase));

/* Adds a case that runs in every mode. */
void session_add(TCase *tcase, const TTest *test);

#endif /* SESSION_H */

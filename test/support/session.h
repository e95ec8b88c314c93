/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An origin and a target, to run one case on: within one class, as two classes
 * of one process with a thread each, or as two processes; busy or waiting. The
 * program is told the transport ("na+sm", "loop+mem"), with "auto_sm" behind it
 * if na+sm is to be beside it, and runs each case in each mode of that. Unless
 * it is soaking, with "one" behind it between processes only, and with "threads"
 * only in modes with a thread for each side: what has no more than one thread
 * has no races to find.
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
    const struct loop_limits *limits; /* loop: NULL for the usual */
    bool late;                        /* loop: what is sent ends later */
    bool loopback;                    /* self: without the transport */
};

/* What differs from case to case, at both sides. Each may be NULL. */
struct session_setup {
    void (*init)(struct hg_init_info *info); /* options */
    void (*open)(hg_class_t *hg_class);      /* registers RPCs */
    void (*started)(hg_context_t *context);  /* target only */
    void (*stopping)(void);                  /* likewise; gives back */
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
    pid_t process; /* -1: none, or gone */
};

/* The transport of this run, and the same without a host ("ofi+tcp" of
 * "ofi+tcp://[::1]"). */
const char *session_transport(void);
const char *session_protocol(void);
bool session_is_loop(void);

/* Whether it names its ends by host and port, rather than as they please. */
bool session_is_hosts(void);

/* Whether nothing of it wakes who sleeps: it looks every millisecond. */
bool session_naps(void);

/* The first mode, and the number behind the last one, for tcase_add_loop_test;
 * and one of them. */
int session_first_mode(void);
int session_modes(void);
const struct session_mode *session_mode_at(int mode);

/* Sets the loop plugin up for a mode and registers it, if it is the transport:
 * what session_begin does first. Touches nothing of the library else. */
void session_prepare(const struct session_mode *mode);

/* Starts both sides; fails the test when that fails. First call of a test,
 * before any of the library. */
void session_begin(
    struct session *session, int mode, const struct session_setup *setup);

/* Ends both; everything must have been given back, and no unannounced line
 * logged. */
void session_end(struct session *session);

/* Sets the target's *stop, which it may see only once it is woken. */
void session_stop(struct session *session);

/* SESSION_USER_SIZE bytes, zeroed, that both sides see. Valid in handlers. */
void *session_user(void);

/* For handlers and whatever runs at the target, where the test can't be failed
 * at once: session_end fails it. */
#define TARGET_ASSERT(condition)                                               \
    do {                                                                       \
        if (!(condition))                                                      \
            session_complain(__FILE__, __LINE__, #condition);                  \
    } while (0)
void session_complain(const char *file, int line, const char *text);

/* Kills the target's process, or does as if. */
void session_kill(struct session *session);

/* Opens a class as a mode wants it: options of the setup included. */
hg_class_t *session_open_class(const struct session_mode *mode,
    const struct session_setup *setup, bool listen);

/* Runs everything that is due on a context, until nothing is. */
void session_drain(hg_context_t *context);

/* Progresses and triggers the origin once, for at most so long. */
void session_step(struct session *session, unsigned timeout_ms);

/* Steps until *counter, which the origin's callbacks advance, is at least
 * `value`; fails the test when that doesn't come in time, and says what was
 * waited for where. A wake-up that is lost is not made up for. */
#define session_wait(session, counter, value)                                  \
    session_wait_at(                                                           \
        session, counter, value, false, #counter, __FILE__, __LINE__)

/* The same for a counter that somebody else advances. */
#define session_wait_other(session, counter, value)                            \
    session_wait_at(session, counter, value, true, #counter, __FILE__, __LINE__)

void session_wait_at(struct session *session, const _Atomic uint32_t *counter,
    uint32_t value, bool other, const char *what, const char *file, int line);

/* Steps for a while in which nothing should happen. */
void session_quiet(struct session *session);

/* Milliseconds of a clock that only goes forward. */
uint64_t session_now_ms(void);

/* One operation's end. */
struct call {
    _Atomic uint32_t called;
    hg_return_t ret;
    hg_cb_type_t type;
    hg_handle_t handle;
    hg_size_t size; /* of a transfer */
};

/* The callback that fills in the struct call that arg is. */
hg_return_t call_done(const struct hg_cb_info *info);

/* Progresses and triggers a context until a call has been called back so often;
 * fails the test, with the place of the wait, when that doesn't come in time.
 * For contexts beside the session's, also in threads of their own. */
#define call_wait(context, call, count)                                        \
    call_wait_at(context, call, count, #call, __FILE__, __LINE__)

void call_wait_at(hg_context_t *context, const struct call *call,
    uint32_t count, const char *what, const char *file, int line);

/* The longest wait for what must come: TEST_WAIT_MS, and once some cases of a
 * program have waited in vain a tenth of it for the others, so that the program
 * ends before its runner kills it. */
uint32_t session_wait_ms(void);

/* Fails the test, and says why on stderr at once. For waits in vain. */
void session_give_up(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Fails the test shortly before its runner would kill it without a word. Begun
 * by session_begin. */
void session_limit(const struct session_mode *mode);

/* Creates a handle for the target. */
hg_handle_t session_handle(struct session *session, hg_id_t id);

/* Forwards and waits; what the callback said. */
#define session_forward(session, handle, in_struct)                            \
    session_forward_at(session, handle, in_struct, __FILE__, __LINE__)

hg_return_t session_forward_at(struct session *session, hg_handle_t handle,
    void *in_struct, const char *file, int line);

/* Main of a program: argv[1] is the transport, the words above stand behind it.
 * add: adds the cases. */
int session_main(
    int argc, char **argv, const char *name, void (*add)(TCase *tcase));

/* Adds a case that runs in every mode. */
void session_add(TCase *tcase, const TTest *test);

#endif /* SESSION_H */

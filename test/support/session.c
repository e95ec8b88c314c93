/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting and ending the two sides of a case, and waiting in between. */
#include "session.h"

#include "counts.h"
#include "log_watch.h"
#include "talaria.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SERVE_STEP_MS 2U
#define LATE_POLLS 3U

static const char *transport = "loop+mem";
static bool auto_sm;
static bool one_mode;

struct session_shared {
    _Atomic bool stop;
    _Atomic int failed; /* a line of this file, where the target failed */
    _Atomic bool complained;
    char complaint[256];
    char user[SESSION_USER_SIZE] __attribute__((aligned(64)));
};

static struct session_shared *current;

/* Leaks of a child are looked for before it leaves by _exit. */
void __lsan_do_leak_check(void) __attribute__((weak));

static const struct loop_limits odd_limits = {
    .max_unexpected_size = 1000,
    .max_expected_size = 1224,
    .unexpected_header_size = 24,
    .expected_header_size = 40,
    .max_tag = 0x7fff,
    .max_segments = 1,
    .max_rma_size = 1000,
    .op_pad = 40,
};
static const struct loop_limits napping_limits = {.no_wait = true};
static const struct loop_limits waking_limits = {.no_wait = true, .wake = true};

static const struct session_mode loop_modes[] = {
    {.name = "self", .shape = SESSION_SELF},
    {.name = "self, busy, odd limits",
        .shape = SESSION_SELF,
        .progress_mode = NA_NO_BLOCK,
        .limits = &odd_limits},
    {.name = "self, single thread, late",
        .shape = SESSION_SELF,
        .thread_mode = NA_THREAD_MODE_SINGLE,
        .late = true},
    {.name = "threads", .shape = SESSION_THREADS},
    {.name = "threads, odd limits, late",
        .shape = SESSION_THREADS,
        .limits = &odd_limits,
        .late = true},
    {.name = "threads, single thread each",
        .shape = SESSION_THREADS,
        .thread_mode = NA_THREAD_MODE_SINGLE},
    {.name = "threads, busy",
        .shape = SESSION_THREADS,
        .progress_mode = NA_NO_BLOCK},
    {.name = "threads, napping",
        .shape = SESSION_THREADS,
        .limits = &napping_limits},
    {.name = "threads, woken",
        .shape = SESSION_THREADS,
        .limits = &waking_limits},
};

/* The first of them, which differ most, are those of every day over transports
 * between hosts, where each costs more. */
static const struct session_mode other_modes[] = {
    {.name = "self", .shape = SESSION_SELF, .loopback = true},
    {.name = "threads, busy",
        .shape = SESSION_THREADS,
        .progress_mode = NA_NO_BLOCK},
    {.name = "processes", .shape = SESSION_PROCESSES},
    {.name = "threads, single thread each",
        .shape = SESSION_THREADS,
        .thread_mode = NA_THREAD_MODE_SINGLE},
    {.name = "processes, busy",
        .shape = SESSION_PROCESSES,
        .progress_mode = NA_NO_BLOCK},
    {.name = "self, busy", .shape = SESSION_SELF, .progress_mode = NA_NO_BLOCK},
    {.name = "self, single thread",
        .shape = SESSION_SELF,
        .thread_mode = NA_THREAD_MODE_SINGLE,
        .loopback = true},
    {.name = "threads", .shape = SESSION_THREADS},
    {.name = "processes, single thread",
        .shape = SESSION_PROCESSES,
        .thread_mode = NA_THREAD_MODE_SINGLE},
};

#define COUNT(array) ((int) (sizeof(array) / sizeof(array)[0]))

const char *
session_transport(void)
{
    return transport;
}

const char *
session_protocol(void)
{
    static char protocol[64];
    const char *host = strstr(transport, "://");

    snprintf(protocol, sizeof protocol, "%.*s",
        host ? (int) (host - transport) : (int) sizeof protocol, transport);
    return protocol;
}

bool
session_is_loop(void)
{
    return strncmp(transport, "loop+", 5) == 0;
}

bool
session_is_hosts(void)
{
    return strncmp(transport, "ofi+", 4) == 0 ||
           strncmp(transport, "ucx+", 4) == 0;
}

bool
session_naps(void)
{
    return strcmp(session_protocol(), "ofi+shm") == 0 ||
           strcmp(session_protocol(), "ofi+sockets") == 0;
}

int
session_first_mode(void)
{
    int mode = 0;

    while (one_mode && other_modes[mode].shape != SESSION_PROCESSES)
        mode++;
    return mode;
}

int
session_modes(void)
{
    if (session_is_loop())
        return COUNT(loop_modes);
    if (one_mode)
        return session_first_mode() + 1;
    return session_is_hosts() ? (int) test_count(TEST_HOST_MODES)
                              : COUNT(other_modes);
}

const struct session_mode *
session_mode_at(int mode)
{
    return session_is_loop() ? &loop_modes[mode] : &other_modes[mode];
}

void *
session_user(void)
{
    return current->user;
}

void
session_complain(const char *file, int line, const char *text)
{
    if (!atomic_exchange(&current->complained, true))
        snprintf(current->complaint, sizeof current->complaint,
            "%s:%d at the target: %s", file, line, text);
}

uint64_t
session_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

hg_class_t *
session_open_class(const struct session_mode *mode,
    const struct session_setup *setup, bool listen)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    info.na_init_info.progress_mode = mode->progress_mode;
    info.na_init_info.thread_mode = mode->thread_mode;
    info.no_loopback = !mode->loopback;
    info.auto_sm = auto_sm;
    info.no_multi_recv = 1; /* has its own cases */
    if (setup && setup->init)
        setup->init(&info);
    return HG_Init_opt2(transport, listen, HG_VERSION(2, 4), &info);
}

void
session_prepare(const struct session_mode *mode)
{
    static const enum loop_kind kinds[] = {
        LOOP_SEND_UNEXPECTED, LOOP_SEND_EXPECTED, LOOP_PUT, LOOP_GET};
    static const struct loop_limits usual;

    if (!session_is_loop())
        return;
    ck_assert_int_eq(talaria_plugin_register(&loop_plugin), NA_SUCCESS);
    loop_faults_clear();
    loop_limits_set(mode->limits ? mode->limits : &usual);
    for (int i = 0; mode->late && i < COUNT(kinds); i++)
        loop_fault_set(kinds[i],
            (struct loop_fault){.act = LOOP_LATER, .delay = LATE_POLLS});
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
write_address(const struct session *session, hg_class_t *hg_class)
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
serve_simply(hg_context_t *context, const _Atomic bool *stop)
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

/* The target: 0, or the line where it failed. */
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
    write_address(session, hg_class);
    if (session->setup->serve)
        session->setup->serve(context, &session->shared->stop);
    else if (!serve_simply(context, &session->shared->stop))
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

static void
start_target(struct session *session)
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
        write_address(session, session->hg_class);
}

/* The target's address, once the target is ready: both sides register RPCs, and
 * keep their ids in the same variables, one after the other. */
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
        start_target(session);
        read_address(session);
        open_origin(session);
    }
    find_target(session);
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

void
session_stop(struct session *session)
{
    atomic_store(&session->shared->stop, true);
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

/* What the target sends last may end only when the origin takes it. */
static void
join_target(struct session *session)
{
    int status = 0;

    session_stop(session);
    while (!target_has_ended(session, &status))
        session_step(session, SERVE_STEP_MS);
    ck_assert_int_eq(status, 0);
    ck_assert_msg(atomic_load(&session->shared->failed) == 0,
        "the target failed in line %d of session.c",
        atomic_load(&session->shared->failed));
}

void
session_end(struct session *session)
{
    if (session->mode->shape == SESSION_SELF && session->setup->stopping)
        session->setup->stopping();
    session_drain(session->context);
    join_target(session);
    session_drain(session->context);
    ck_assert_int_eq(
        HG_Addr_free(session->hg_class, session->target), HG_SUCCESS);
    ck_assert_int_eq(HG_Context_destroy(session->context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(session->hg_class), HG_SUCCESS);
    HG_Cleanup();
    ck_assert_msg(!atomic_load(&session->shared->complained), "%s",
        session->shared->complaint);
    close(session->pipe[0]);
    if (session->pipe[1] >= 0)
        close(session->pipe[1]);
    log_watch_check();
}

void
session_step(struct session *session, unsigned timeout_ms)
{
    hg_return_t ret = HG_Progress(session->context, timeout_ms);

    /* Check writes down each assertion that holds: that is much, so often. */
    if (ret != HG_SUCCESS && ret != HG_TIMEOUT)
        ck_abort_msg("HG_Progress: %s", HG_Error_to_string(ret));
    while (HG_Trigger(session->context, 0, 1, NULL) == HG_SUCCESS)
        ;
}

static void
wait_for(struct session *session, const _Atomic uint32_t *counter,
    uint32_t value, unsigned step_ms)
{
    uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);

    while (atomic_load(counter) < value) {
        uint64_t now = session_now_ms();

        if (now >= deadline)
            ck_abort_msg("waited in vain for %u of %u in \"%s\"",
                atomic_load(counter), value, session->mode->name);
        session_step(session,
            deadline - now < step_ms ? (unsigned) (deadline - now) : step_ms);
    }
}

void
session_wait(
    struct session *session, const _Atomic uint32_t *counter, uint32_t value)
{
    wait_for(session, counter, value, test_count(TEST_WAIT_MS));
}

void
session_wait_other(
    struct session *session, const _Atomic uint32_t *counter, uint32_t value)
{
    wait_for(session, counter, value, 1);
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
session_forward(struct session *session, hg_handle_t handle, void *in_struct)
{
    struct call call = {.called = 0};
    hg_return_t ret = HG_Forward(handle, call_done, &call, in_struct);

    if (ret != HG_SUCCESS)
        return ret;
    session_wait(session, &call.called, 1);
    ck_assert_uint_eq(call.called, 1);
    ck_assert_ptr_eq(call.handle, handle);
    return call.ret;
}

/* libfabric looks for devices when it is first used, for some 0.1 s of the
 * processor and 0.2 s asleep. Each case is a process of its own: they inherit
 * what was found. */
static void
warm_up(void)
{
    hg_class_t *hg_class;

    if (strncmp(transport, "ofi+", 4) != 0)
        return;
    /* The cases say it when this fails. */
    hg_class = HG_Init(transport, HG_FALSE);
    if (hg_class)
        HG_Finalize(hg_class);
    HG_Cleanup();
}

int
session_main(int argc, char **argv, const char *name, void (*add)(TCase *tcase))
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    SRunner *runner;
    int failed;

    if (argc > 1)
        transport = argv[1];
    auto_sm = argc > 2 && strcmp(argv[2], "auto_sm") == 0;
    one_mode = argc > 2 && strcmp(argv[2], "one") == 0 &&
               (int) test_count(TEST_HOST_MODES) < COUNT(other_modes);
    suite_add_tcase(suite, tcase);
    add(tcase);
    warm_up();
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

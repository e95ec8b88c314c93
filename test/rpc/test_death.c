/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that die: every pending call ends once, soon, with an error. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define IN_FLIGHT 32U
#define MOVING (8U << 20)

static const struct session_setup setup = {
    .open = rpcs_open, .stopping = rpcs_stopping};

/* Whether this mode has a target that can be killed. */
static bool
can_kill_target(int mode)
{
    return session_mode_at(mode)->shape == SESSION_PROCESSES ||
           (session_is_loop() &&
               session_mode_at(mode)->shape == SESSION_THREADS);
}

static void
ck_dead(hg_return_t ret)
{
    ck_assert_msg(ret == HG_HOSTUNREACH || ret == HG_IO_ERROR,
        "calling a dead peer returned %s", HG_Error_to_string(ret));
}

static void
forward_many(
    struct session *s, hg_handle_t *handles, struct call *calls, enum rpc rpc)
{
    blob_t in = blob_make(20, 2);

    memset(calls, 0, IN_FLIGHT * sizeof *calls);
    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        handles[i] = session_handle(s, rpcs_id(rpc));
        ck_assert_int_eq(
            HG_Forward(handles[i], call_done, &calls[i], &in), HG_SUCCESS);
    }
    blob_free(&in);
}

/* Waits until all calls have ended, within the limit. Returns how long it took,
 * in ms. */
static void
ck_all_end(struct session *s, hg_handle_t *handles, struct call *calls)
{
    uint64_t begin = session_now_ms();

    for (unsigned i = 0; i < IN_FLIGHT; i++)
        session_wait(s, &calls[i].called, 1);
    ck_assert_uint_le(session_now_ms() - begin, test_count(TEST_DEATH_MS));
    session_quiet(s);
    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        ck_assert_uint_eq(calls[i].called, 1);
        ck_assert_int_eq(HG_Ref_get(handles[i]), 1);
        ck_assert_int_eq(HG_Destroy(handles[i]), HG_SUCCESS);
    }
}

START_TEST(death_of_target_ends_calls_in_flight)
{
    struct session s;
    struct call calls[IN_FLIGHT];
    hg_handle_t handles[IN_FLIGHT];

    if (!can_kill_target(_i))
        return;
    session_begin(&s, _i, &setup);
    forward_many(&s, handles, calls, RPC_KEEP);
    rpcs_wait_handled(&s, RPC_KEEP, IN_FLIGHT);
    session_kill(&s);
    ck_all_end(&s, handles, calls);
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        ck_dead(calls[i].ret);
    session_end(&s);
}
END_TEST

/* Killed while it fetches arguments, and while its response is fetched. */
START_TEST(death_of_target_during_transfer_ends_calls)
{
    static const enum rpc rpcs[] = {RPC_KEEP, RPC_ECHO};
    blob_t in = blob_make(MOVING, 1);

    for (unsigned i = 0; can_kill_target(_i) && i < 2; i++) {
        struct session s;
        struct call call = {.called = 0};
        hg_handle_t handle;

        session_begin(&s, _i, &setup);
        log_expect("cannot acknowledge the answer", 0, 1);
        log_expect("withdrawn", 0, 1);
        log_expect("cannot acknowledge the fetched arguments", 0, 1);
        /* of a target that ends while it is connected */
        log_expect("connection refused", 0, 1);
        handle = session_handle(&s, rpcs_id(rpcs[i]));
        ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
        if (i == 1)
            rpcs_wait_handled(&s, RPC_ECHO, 1);
        else
            session_step(&s, 1);
        session_kill(&s);
        session_wait(&s, &call.called, 1);
        if (i == 0)
            ck_dead(call.ret);
        session_quiet(&s);
        ck_assert_uint_eq(call.called, 1);
        ck_assert_int_eq(HG_Ref_get(handle), 1);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
        session_end(&s);
    }
    blob_free(&in);
}
END_TEST

/* Killed amid traffic: some calls are answered, some not even sent. */
START_TEST(death_of_target_amid_traffic_ends_each_call_once)
{
    struct session s;
    struct call calls[IN_FLIGHT];
    hg_handle_t handles[IN_FLIGHT];

    if (!can_kill_target(_i))
        return;
    session_begin(&s, _i, &setup);
    forward_many(&s, handles, calls, RPC_ECHO);
    rpcs_wait_handled(&s, RPC_ECHO, 4);
    session_kill(&s);
    ck_all_end(&s, handles, calls);
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        if (calls[i].ret != HG_SUCCESS)
            ck_dead(calls[i].ret);
    session_end(&s);
}
END_TEST

START_TEST(death_of_target_fails_later_calls_at_once)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    uint64_t begin;
    hg_return_t ret;

    if (!can_kill_target(_i))
        return;
    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    session_kill(&s);
    begin = session_now_ms();
    for (unsigned i = 0; i < 20; i++) {
        call.called = 0;
        ret = HG_Forward(handle, call_done, &call, NULL);
        if (ret == HG_SUCCESS) {
            session_wait(&s, &call.called, 1);
            ret = call.ret;
        }
        ck_dead(ret);
        ck_assert_int_eq(HG_Ref_get(handle), 1);
    }
    ck_assert_uint_le(session_now_ms() - begin, test_count(TEST_DEATH_MS));
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(death_of_target_ends_unanswered_notifications)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    hg_return_t ret = HG_SUCCESS;
    uint64_t value = 1;

    if (!can_kill_target(_i))
        return;
    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_NOTIFY));
    session_kill(&s);
    log_expect("connection refused", 0, 1);
    /* The first ones may be sent before the transport notices the death. */
    for (unsigned i = 0; i < 1000 && ret == HG_SUCCESS; i++) {
        call.called = 0;
        ret = HG_Forward(handle, call_done, &call, &value);
        if (ret == HG_SUCCESS) {
            session_wait(&s, &call.called, 1);
            ret = call.ret;
        }
    }
    ck_dead(ret);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* Main of an origin process: reads a target address from the pipe, and sends
 * calls that are never answered. */
static void
origin_main(int mode, int pipe_fd)
{
    char address[256];
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t target;
    hg_handle_t handle;
    blob_t in = blob_make(20, 3);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(pipe_fd, address, sizeof address) != sizeof address)
        _exit(1);
    hg_class = session_open_class(session_mode_at(mode), &setup, false);
    rpcs_open(hg_class);
    context = HG_Context_create(hg_class);
    if (HG_Addr_lookup2(hg_class, address, &target) != HG_SUCCESS)
        _exit(2);
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        if (HG_Create(context, target, rpcs_id(RPC_KEEP), &handle) !=
                HG_SUCCESS ||
            HG_Forward(handle, NULL, NULL, &in) != HG_SUCCESS)
            _exit(3);
    for (;;)
        HG_Progress(context, 1000);
}

static void
call_and_wait(struct session *s)
{
    hg_handle_t handle = session_handle(s, rpcs_id(RPC_EMPTY));

    ck_assert_int_eq(session_forward(s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
}

START_TEST(death_of_origin_leaves_the_target_serving)
{
    struct session s;
    uint32_t rounds = test_count(TEST_KILL_ROUNDS);
    int pipes[20][2], status;
    pid_t origins[20];

    if (session_mode_at(_i)->shape != SESSION_PROCESSES)
        return;
    ck_assert_uint_le(rounds, 20);
    /* Fork all of them before this process uses the library. */
    for (uint32_t i = 0; i < rounds; i++) {
        ck_assert_int_eq(pipe(pipes[i]), 0);
        origins[i] = fork();
        ck_assert_int_ge(origins[i], 0);
        if (origins[i] == 0)
            origin_main(_i, pipes[i][0]);
    }
    session_begin(&s, _i, &setup);
    for (uint32_t i = 0; i < rounds; i++) {
        ck_assert_int_eq(
            write(pipes[i][1], s.address, sizeof s.address), sizeof s.address);
        rpcs_wait_handled(&s, RPC_KEEP, (i + 1) * IN_FLIGHT);
        ck_assert_int_eq(kill(origins[i], SIGKILL), 0);
        ck_assert_int_eq(waitpid(origins[i], &status, 0), origins[i]);
        ck_assert(WIFSIGNALED(status));
        call_and_wait(&s);
        /* Responding to a dead origin has no effect on others. */
        ck_assert_uint_eq(rpcs_answer_kept(&s, IN_FLIGHT), IN_FLIGHT);
        call_and_wait(&s);
        close(pipes[i][0]);
        close(pipes[i][1]);
    }
    session_end(&s);
}
END_TEST

static hg_id_t drop_id;

static hg_return_t
on_drop(hg_handle_t handle)
{
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    atomic_fetch_add(&rpcs_shared()->handled[RPC_KEEP], 1);
    return HG_SUCCESS;
}

static void
open_drop(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    drop_id = MERCURY_REGISTER(hg_class, "drop", void, void, on_drop);
}

/* A target that shuts down in good order without having answered. */
START_TEST(death_finalized_target_ends_calls_in_flight)
{
    static const struct session_setup setup_drop = {
        .open = open_drop, .stopping = rpcs_stopping};
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, _i, &setup_drop);
    if (s.mode->shape != SESSION_SELF) {
        handle = session_handle(&s, drop_id);
        ck_assert_int_eq(
            HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
        rpcs_wait_handled(&s, RPC_KEEP, 1);
        session_quiet(&s);
        ck_assert_uint_eq(call.called, 0);
        session_stop(&s);
        session_wait(&s, &call.called, 1);
        ck_dead(call.ret);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    session_end(&s);
}
END_TEST

/* Runs before the session exists. */
static hg_return_t
on_alive(hg_handle_t handle)
{
    HG_Respond(handle, NULL, NULL, NULL);
    return HG_Destroy(handle);
}

/* Whether the transport chooses a new name for each class. */
static bool
has_random_names(void)
{
    return strcmp(session_transport(), "ofi+shm") == 0;
}

enum { RESTARTS = 3 };

/* A target process: reads the address to listen at, and writes its own
 * address. */
struct target_process {
    pid_t process;
    int go[2], ready[2];
    char address[256];
};

static bool
write_self(hg_class_t *hg_class, int fd)
{
    char text[sizeof(((struct target_process *) NULL)->address)] = "";
    hg_size_t size = sizeof text;
    hg_addr_t self;

    if (HG_Addr_self(hg_class, &self) != HG_SUCCESS ||
        HG_Addr_to_string(hg_class, text, &size, self) != HG_SUCCESS)
        return false;
    HG_Addr_free(hg_class, self);
    return write(fd, text, sizeof text) == sizeof text;
}

static void
target_fork(struct target_process *target)
{
    hg_class_t *hg_class;
    hg_context_t *context;

    ck_assert_int_eq(pipe(target->go), 0);
    ck_assert_int_eq(pipe(target->ready), 0);
    target->process = fork();
    ck_assert_int_ge(target->process, 0);
    if (target->process != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(target->go[0], target->address, sizeof target->address) !=
        sizeof target->address)
        _exit(1);
    hg_class = HG_Init(target->address, HG_TRUE);
    if (!hg_class)
        _exit(2);
    MERCURY_REGISTER(hg_class, "empty", void, void, on_alive);
    context = HG_Context_create(hg_class);
    if (!context || !write_self(hg_class, target->ready[1]))
        _exit(3);
    for (;;) {
        HG_Progress(context, 1000);
        while (HG_Trigger(context, 0, 16, NULL) == HG_SUCCESS)
            ;
    }
}

/* Starts the target at name; its actual address replaces name. */
static void
target_begin(struct target_process *target, const char *info_string)
{
    snprintf(target->address, sizeof target->address, "%s", info_string);
    ck_assert_int_eq(
        write(target->go[1], target->address, sizeof target->address),
        sizeof target->address);
    close(target->ready[1]);
    target->ready[1] = -1;
    ck_assert_msg(read(target->ready[0], target->address,
                      sizeof target->address) == sizeof target->address,
        "cannot open \"%s\"", info_string);
}

static void
target_end(struct target_process *target)
{
    int status;

    ck_assert_int_eq(kill(target->process, SIGKILL), 0);
    ck_assert_int_eq(waitpid(target->process, &status, 0), target->process);
    close(target->go[0]);
    close(target->go[1]);
    close(target->ready[0]);
    if (target->ready[1] >= 0)
        close(target->ready[1]);
}

/* Calls until one call is answered. Returns how many failed. */
static unsigned
calls_failed(struct session *s, hg_handle_t handle)
{
    struct call call;
    hg_return_t ret = HG_SUCCESS;

    for (unsigned failed = 0; failed < 100; failed++) {
        call.called = 0;
        ret = HG_Forward(handle, call_done, &call, NULL);
        if (ret == HG_SUCCESS) {
            session_wait(s, &call.called, 1);
            ret = call.ret;
        }
        ck_assert_int_eq(HG_Ref_get(handle), 1);
        if (ret == HG_SUCCESS)
            return failed;
        ck_dead(ret);
    }
    ck_abort_msg("cannot be reached: %s", HG_Error_to_string(ret));
}

/* The same hg_addr_t reaches the restarted process. Only the calls that find
 * the connection broken fail. */
START_TEST(death_restarted_target_is_reached_by_old_address)
{
    struct session s;
    struct target_process targets[RESTARTS];
    char name[256];
    hg_addr_t addr = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;

    if (session_mode_at(_i)->shape != SESSION_PROCESSES || has_random_names())
        return;
    /* the first target picks a port; its successors listen there */
    if (session_is_hosts())
        snprintf(name, sizeof name, "%s", session_transport());
    else
        snprintf(
            name, sizeof name, "%s://again%d", session_transport(), getpid());
    for (unsigned i = 0; i < RESTARTS; i++)
        target_fork(&targets[i]);
    session_begin(&s, _i, &setup);
    for (unsigned i = 0; i < RESTARTS; i++) {
        target_begin(&targets[i], name);
        if (i == 0) {
            if (session_is_hosts())
                snprintf(name, sizeof name, "%s", targets[0].address);
            ck_assert_int_eq(
                HG_Addr_lookup2(s.hg_class, name, &addr), HG_SUCCESS);
            ck_assert_int_eq(
                HG_Create(s.context, addr, rpcs_id(RPC_EMPTY), &handle),
                HG_SUCCESS);
        }
        if (session_is_hosts())
            ck_assert_str_eq(targets[i].address, name);
        ck_assert_uint_le(calls_failed(&s, handle), i == 0 ? 0 : 10);
        target_end(&targets[i]);
    }
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, addr), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, death_of_target_ends_calls_in_flight);
    session_add(tcase, death_of_target_during_transfer_ends_calls);
    session_add(tcase, death_of_target_amid_traffic_ends_each_call_once);
    session_add(tcase, death_of_target_fails_later_calls_at_once);
    session_add(tcase, death_of_target_ends_unanswered_notifications);
    session_add(tcase, death_of_origin_leaves_the_target_serving);
    session_add(tcase, death_finalized_target_ends_calls_in_flight);
    session_add(tcase, death_restarted_target_is_reached_by_old_address);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "death", add);
}

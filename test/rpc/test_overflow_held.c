/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that a target holds for its peers are limited: outputs that are not
 * fetched, also for a peer that is stopped, dies, or asks for the whole
 * limit. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"
#include "talaria.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ANSWER 100000U
#define TOTAL 4000000U
#define TOTAL_TEXT "4000000"
#define CALLS 60U /* exceeds the total */

struct shared {
    _Atomic uint32_t made;    /* successful HG_Respond calls */
    _Atomic uint32_t refused; /* HG_Respond calls that failed with HG_AGAIN */
    _Atomic uint32_t others;  /* HG_Respond calls with any other code */
    _Atomic uint64_t counted; /* talaria_class_stats.payloads_refused */
};

static hg_id_t make_id; /* no input, output of ANSWER bytes */
static hg_id_t look_id; /* fills in counted */

static struct shared *
shared(void)
{
    return (struct shared *) ((char *) session_user() + RPCS_USER_OFFSET);
}

static hg_return_t
on_make(hg_handle_t handle)
{
    blob_t out = blob_make(ANSWER, 1);
    hg_return_t ret = HG_Respond(handle, rpcs_on_responded, NULL, &out);

    blob_free(&out);
    atomic_fetch_add(ret == HG_SUCCESS ? &shared()->made
                     : ret == HG_AGAIN ? &shared()->refused
                                       : &shared()->others,
        1);
    return ret;
}

static hg_return_t
on_look(hg_handle_t handle)
{
    struct talaria_class_stats *stats;

    TARGET_ASSERT(talaria_class_stats(HG_Get_info(handle)->hg_class, &stats) ==
                  HG_SUCCESS);
    atomic_store(&shared()->counted, stats->payloads_refused);
    talaria_class_stats_free(stats);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    return HG_Destroy(handle);
}

static void
with_stats(struct hg_init_info *info)
{
    info->stats = 1;
}

static void
open_own(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    make_id = MERCURY_REGISTER(hg_class, "make", void, blob_t, on_make);
    look_id = MERCURY_REGISTER(hg_class, "look", void, void, on_look);
}

static const struct session_setup setup = {
    .init = with_stats, .open = open_own, .stopping = rpcs_stopping};

static void
set(const char *name, const char *value)
{
    ck_assert_int_eq(setenv(name, value, 1), 0);
}

/* Waits, without progress, until the target has handled count requests. Returns
 * how many responses were accepted. */
static uint32_t
wait_handled(uint32_t count)
{
    uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);
    struct timespec nap = {.tv_nsec = 1000000};

    while (shared()->made + shared()->refused + shared()->others < count) {
        if (session_now_ms() >= deadline)
            ck_abort_msg("%u taken, %u refused of %u", shared()->made,
                shared()->refused, count);
        nanosleep(&nap, NULL);
    }
    ck_assert_uint_eq(shared()->others, 0);
    return shared()->made;
}

/* Sequential calls that together exceed the total: each is answered. */
static void
ck_answers(struct session *s)
{
    hg_handle_t handle = session_handle(s, make_id);
    blob_t out;

    for (unsigned i = 0; i < CALLS; i++) {
        ck_assert_int_eq(session_forward(s, handle, NULL), HG_SUCCESS);
        ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
        ck_assert_uint_eq(out.size, ANSWER - 4);
        ck_assert_int_eq(HG_Free_output(handle, &out), HG_SUCCESS);
    }
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
}

static uint64_t
refusals_counted(struct session *s)
{
    hg_handle_t handle = session_handle(s, look_id);

    ck_assert_int_eq(session_forward(s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    return shared()->counted;
}

/* One peer gets half of the total plus an eighth of it. */
static void
ck_share(uint32_t made)
{
    ck_assert_uint_ge(made, 4);
    ck_assert_uint_le(made * ANSWER, TOTAL / 2 + TOTAL / 8 + ANSWER);
}

static void
expect_refusals(void)
{
    log_expect("limit " TOTAL_TEXT ": HG_AGAIN", 0, 8);
    log_expect("limit 500000: HG_AGAIN", 1, 8);
}

static struct call calls[CALLS];

/* An origin without progress neither fetches nor acknowledges. */
START_TEST(held_answers_are_limited_in_bytes)
{
    struct session s;
    uint32_t made, again = 0;

    if (session_mode_at(_i)->shape == SESSION_SELF)
        return;
    set("TALARIA_HG_OVERFLOW_TOTAL", TOTAL_TEXT);
    session_begin(&s, _i, &setup);
    expect_refusals();
    ck_answers(&s);
    /* the handler counts a response after it was sent */
    made = wait_handled(CALLS);
    session_wait_other(&s, &rpcs_shared()->responded, made);
    memset(calls, 0, sizeof calls);
    for (unsigned i = 0; i < CALLS; i++) {
        hg_handle_t handle = session_handle(&s, make_id);

        ck_assert_int_eq(
            HG_Forward(handle, call_done, &calls[i], NULL), HG_SUCCESS);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    made = wait_handled(made + CALLS) - made;
    ck_share(made);
    ck_assert_uint_eq(shared()->refused, CALLS - made);
    for (unsigned i = 0; i < CALLS; i++) {
        session_wait(&s, &calls[i].called, 1);
        ck_assert(calls[i].ret == HG_SUCCESS || calls[i].ret == HG_AGAIN);
        again += calls[i].ret == HG_AGAIN;
    }
    ck_assert_uint_eq(again, CALLS - made);
    ck_assert_uint_eq(refusals_counted(&s), CALLS - made);
    session_wait_other(&s, &rpcs_shared()->responded, shared()->made);
    ck_answers(&s);
    ck_assert_uint_eq(refusals_counted(&s), CALLS - made);
    session_end(&s);
}
END_TEST

/* Main of a process that requests many outputs and fetches none. */
static void
hoarder_main(int mode, int pipe_fd)
{
    char address[256];
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t target;
    hg_handle_t handle;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(pipe_fd, address, sizeof address) != sizeof address)
        _exit(1);
    hg_class = session_open_class(session_mode_at(mode), &setup, false);
    open_own(hg_class);
    context = HG_Context_create(hg_class);
    if (HG_Addr_lookup2(hg_class, address, &target) != HG_SUCCESS)
        _exit(2);
    memset(calls, 0, sizeof calls);
    /* The first call connects. */
    if (HG_Create(context, target, rpcs_id(RPC_EMPTY), &handle) != HG_SUCCESS ||
        HG_Forward(handle, call_done, &calls[0], NULL) != HG_SUCCESS)
        _exit(3);
    while (calls[0].called == 0) {
        HG_Progress(context, 100);
        HG_Trigger(context, 0, 16, NULL);
    }
    for (unsigned i = 0; i < CALLS; i++)
        if (HG_Create(context, target, make_id, &handle) != HG_SUCCESS ||
            HG_Forward(handle, NULL, NULL, NULL) != HG_SUCCESS)
            _exit(4);
    for (;;)
        pause();
}

struct hoarder {
    pid_t process;
    int pipe[2];
};

/* Fork before this process uses the library. */
static void
hoarder_fork(struct hoarder *hoarder, int mode)
{
    ck_assert_int_eq(pipe(hoarder->pipe), 0);
    hoarder->process = fork();
    ck_assert_int_ge(hoarder->process, 0);
    if (hoarder->process == 0)
        hoarder_main(mode, hoarder->pipe[0]);
}

static void
hoarder_begin(const struct hoarder *hoarder, const struct session *s)
{
    ck_assert_int_eq(write(hoarder->pipe[1], s->address, sizeof s->address),
        sizeof s->address);
}

static void
hoarder_kill(const struct hoarder *hoarder)
{
    int status;

    ck_assert_int_eq(kill(hoarder->process, SIGKILL), 0);
    ck_assert_int_eq(waitpid(hoarder->process, &status, 0), hoarder->process);
    ck_assert_msg(
        WIFSIGNALED(status), "it ended by itself: %d", WEXITSTATUS(status));
    close(hoarder->pipe[0]);
    close(hoarder->pipe[1]);
}

START_TEST(held_answers_of_one_peer_leave_room_for_others)
{
    struct hoarder hoarder;
    struct session s;
    uint32_t made;

    if (session_mode_at(_i)->shape != SESSION_PROCESSES)
        return;
    set("TALARIA_HG_OVERFLOW_TOTAL", TOTAL_TEXT);
    hoarder_fork(&hoarder, _i);
    session_begin(&s, _i, &setup);
    expect_refusals();
    rpcs_ck_works(&s);
    hoarder_begin(&hoarder, &s);
    made = wait_handled(CALLS);
    ck_share(made);
    /* Other peers are still served. */
    ck_answers(&s);
    session_wait_other(&s, &rpcs_shared()->responded, shared()->made - made);
    ck_assert_uint_eq(shared()->refused, CALLS - made);
    hoarder_kill(&hoarder);
    session_wait_other(&s, &rpcs_shared()->responded, shared()->made);
    ck_answers(&s);
    session_end(&s);
}
END_TEST

START_TEST(held_answers_that_time_out_are_freed)
{
    struct hoarder hoarder;
    struct session s;
    uint32_t made;

    if (session_mode_at(_i)->shape != SESSION_PROCESSES)
        return;
    set("TALARIA_HG_OVERFLOW_TOTAL", TOTAL_TEXT);
    set("TALARIA_HG_ACK_TIMEOUT_MS", "1000");
    hoarder_fork(&hoarder, _i);
    session_begin(&s, _i, &setup);
    expect_refusals();
    log_expect("not acknowledged within 1000 ms", 1, CALLS);
    rpcs_ck_works(&s);
    hoarder_begin(&hoarder, &s);
    made = wait_handled(CALLS);
    ck_share(made);
    session_wait_other(&s, &rpcs_shared()->responded, made);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_TIMEOUT);
    ck_answers(&s);
    hoarder_kill(&hoarder);
    session_end(&s);
}
END_TEST

/* The total binds every peer: a single payload beyond it is always refused. */
START_TEST(held_answer_beyond_the_total_is_msgsize)
{
    struct session s;
    hg_handle_t handle;

    if (session_mode_at(_i)->shape == SESSION_SELF)
        return;
    set("TALARIA_HG_OVERFLOW_TOTAL", "50000");
    session_begin(&s, _i, &setup);
    log_expect("limit 50000: HG_MSGSIZE", 1, 1);
    handle = session_handle(&s, make_id);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_MSGSIZE);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    rpcs_ck_works(&s);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, held_answers_are_limited_in_bytes);
    session_add(tcase, held_answers_of_one_peer_leave_room_for_others);
    session_add(tcase, held_answers_that_time_out_are_freed);
    session_add(tcase, held_answer_beyond_the_total_is_msgsize);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "overflow_held", add);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that sleeps in HG_Progress is woken when another thread starts an
 * operation on the same context that completes before the call returns: no
 * event of the transport would wake it. */
#include "counts.h"
#include "rpcs.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A second target in the thread of the first. Its class answers later. */
static struct {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t addr;
    hg_handle_t kept;
    _Atomic uint32_t responded;
} second;

static hg_id_t later_id;

static hg_return_t
on_later(hg_handle_t handle)
{
    second.kept = handle;
    return HG_SUCCESS;
}

static void
open_own(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    later_id = MERCURY_REGISTER(hg_class, "later", void, void, on_later);
}

static const struct session_setup setup = {.open = open_own};

struct sleeper {
    pthread_t thread;
    _Atomic pid_t id;
    hg_return_t ret;
};

static void *
sleep_in_progress(void *arg)
{
    struct sleeper *sleeper = arg;

    atomic_store(&sleeper->id, gettid());
    do
        sleeper->ret = HG_Progress(second.context, HG_MAX_IDLE_TIME);
    while (sleeper->ret == HG_TIMEOUT);
    return NULL;
}

static bool
asleep(pid_t id)
{
    char path[64], state = '?';
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int) id);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
    fclose(file);
    return state == 'S';
}

/* Waits until the thread in HG_Progress sleeps: it has to be seen asleep
 * several times, since once may be a lock. */
static void
sleeper_begin(struct sleeper *sleeper)
{
    uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);
    struct timespec nap = {.tv_nsec = 1000000};
    unsigned seen = 0;

    memset(sleeper, 0, sizeof *sleeper);
    ck_assert_int_eq(
        pthread_create(&sleeper->thread, NULL, sleep_in_progress, sleeper), 0);
    while (seen < 10) {
        ck_assert_uint_lt(session_now_ms(), deadline);
        nanosleep(&nap, NULL);
        seen = sleeper->id > 0 && asleep(sleeper->id) ? seen + 1 : 0;
    }
}

/* The thread has to return without further help. */
static void
ck_woken(struct sleeper *sleeper)
{
    struct timespec limit;

    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += test_count(TEST_WAIT_MS) / 1000;
    ck_assert_msg(pthread_timedjoin_np(sleeper->thread, NULL, &limit) == 0,
        "the thread was not woken");
    ck_assert_int_eq(sleeper->ret, HG_SUCCESS);
}

static void
second_begin(struct session *s)
{
    char address[256];
    hg_size_t size = sizeof address;
    hg_addr_t self;

    memset(&second, 0, sizeof second);
    second.hg_class = session_open_class(s->mode, s->setup, true);
    ck_assert_ptr_nonnull(second.hg_class);
    open_own(second.hg_class);
    second.context = HG_Context_create(second.hg_class);
    ck_assert_int_eq(HG_Addr_self(second.hg_class, &self), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_to_string(second.hg_class, address, &size, self), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(second.hg_class, self), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_lookup2(s->hg_class, address, &second.addr), HG_SUCCESS);
}

static void
second_end(struct session *s)
{
    session_drain(second.context);
    ck_assert_int_eq(HG_Addr_free(s->hg_class, second.addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Context_destroy(second.context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(second.hg_class), HG_SUCCESS);
}

/* Runs in each mode in which two threads may sleep on a context. */
static bool
sleeps(const struct session *s)
{
    return s->mode->thread_mode == 0 && s->mode->progress_mode == 0 &&
           !s->mode->limits && !session_only_polls();
}

static hg_return_t
on_responded(const struct hg_cb_info *info)
{
    ck_assert_int_eq(info->ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(info->info.respond.handle), HG_SUCCESS);
    atomic_fetch_add(&second.responded, 1);
    return HG_SUCCESS;
}

START_TEST(asleep_woken_by_response_that_completes_at_once)
{
    struct session s;
    struct sleeper sleeper;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    if (sleeps(&s)) {
        second_begin(&s);
        handle = session_handle(&s, later_id);
        ck_assert_int_eq(HG_Reset(handle, second.addr, 0), HG_SUCCESS);
        ck_assert_int_eq(
            HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
        while (!second.kept) {
            session_step(&s, 0);
            session_drain(second.context);
        }
        sleeper_begin(&sleeper);
        ck_assert_int_eq(
            HG_Respond(second.kept, on_responded, NULL, NULL), HG_SUCCESS);
        ck_woken(&sleeper);
        session_drain(second.context);
        session_wait(&s, &call.called, 1);
        ck_assert_uint_eq(second.responded, 1);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
        second_end(&s);
    }
    session_end(&s);
}
END_TEST

/* What the transfer moves: nothing, or data within the process. */
static const hg_size_t sizes[] = {0, 4096};

START_TEST(asleep_woken_by_transfer_that_completes_at_once)
{
    static char memory[2][4096];
    struct session s;
    hg_bulk_t bulks[2];
    hg_addr_t self;

    session_begin(&s, _i, &setup);
    if (sleeps(&s)) {
        second_begin(&s);
        ck_assert_int_eq(HG_Addr_self(second.hg_class, &self), HG_SUCCESS);
        for (unsigned i = 0; i < 2; i++)
            ck_assert_int_eq(
                HG_Bulk_create(second.hg_class, 1, &(void *){memory[i]},
                    &(hg_size_t){sizeof memory[i]}, HG_BULK_READWRITE,
                    &bulks[i]),
                HG_SUCCESS);
        for (unsigned i = 0; i < 2; i++) {
            struct sleeper sleeper;
            struct call call = {.called = 0};

            sleeper_begin(&sleeper);
            ck_assert_int_eq(
                HG_Bulk_transfer(second.context, call_done, &call, HG_BULK_PULL,
                    self, bulks[0], 0, bulks[1], 0, sizes[i], HG_OP_ID_IGNORE),
                HG_SUCCESS);
            ck_woken(&sleeper);
            session_drain(second.context);
            ck_assert_uint_eq(call.called, 1);
            ck_assert_int_eq(call.ret, HG_SUCCESS);
        }
        for (unsigned i = 0; i < 2; i++)
            ck_assert_int_eq(HG_Bulk_free(bulks[i]), HG_SUCCESS);
        ck_assert_int_eq(HG_Addr_free(second.hg_class, self), HG_SUCCESS);
        second_end(&s);
    }
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, asleep_woken_by_response_that_completes_at_once);
    session_add(tcase, asleep_woken_by_transfer_that_completes_at_once);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "asleep", add);
}

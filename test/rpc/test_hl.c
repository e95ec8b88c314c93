/* SPDX-License-Identifier: BSD-3-Clause */
/* The high-level layer: requests, and functions that are called as RPCs. */
#include "counts.h"
#include "log_watch.h"
#include "mercury_hl.h"
#include "session.h"
#include "talaria.h"

#include <string.h>

#define LONG_MS 20000U
#define SHORT_MS 50U

struct shared {
    _Atomic uint32_t said;
    char text[64];
};

static struct shared *
shared(void)
{
    return session_user();
}

static int32_t
add(int32_t a, int32_t b)
{
    return a + b;
}
MERCURY_GEN_RPC(add, int32_t, ((int32_t) (a))((int32_t) (b)))

static uint64_t
answer(void)
{
    return 42;
}
MERCURY_GEN_RPC(answer, uint64_t, )

static void
say(const char *text, uint8_t times, const char *more)
{
    TARGET_ASSERT(more == NULL);
    strncpy(shared()->text, text, sizeof shared()->text - 1);
    atomic_fetch_add(&shared()->said, times);
}
MERCURY_GEN_RPC_VOID(say,
    ((hg_const_string_t) (text))((uint8_t) (times))((hg_const_string_t) (more)))

static void
silent(void)
{
    atomic_store(&shared()->said, 0);
}
MERCURY_GEN_RPC_VOID(silent, )

/* Calls the other function and waits for it, inside a callback of the waiting
 * caller. */
static talaria_request_class_t *outer_class;
static hg_addr_t outer_addr;

static int32_t
outer(int32_t a)
{
    int32_t sum = 0;

    TARGET_ASSERT(
        add_call(outer_class, outer_addr, LONG_MS, a, 1, &sum) == HG_SUCCESS);
    return 2 * sum;
}
MERCURY_GEN_RPC(outer, int32_t, ((int32_t) (a)))

/* Only tested, never waited for. */
void nowhere(int32_t a);
MERCURY_GEN_RPC_VOID(nowhere, ((int32_t) (a)))

static hg_return_t
on_never(hg_handle_t handle)
{
    TARGET_ASSERT(talaria_handle_drop(handle) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static void
open_all(hg_class_t *hg_class)
{
    if (!add_register(hg_class) || !answer_register(hg_class) ||
        !say_register(hg_class) || !silent_register(hg_class) ||
        !outer_register(hg_class) ||
        !MERCURY_REGISTER(hg_class, "never", void, void, on_never))
        abort();
}

static const struct session_setup setup = {.open = open_all};

START_TEST(hl_function_is_called_and_waited_for)
{
    struct session s;
    hg_request_class_t *requests;
    uint64_t number = 0;
    int32_t sum = 0;
    hg_addr_t addr;

    session_begin(&s, _i, &setup);
    requests = hg_request_init(NULL, NULL, s.context);
    ck_assert_ptr_nonnull(requests);
    ck_assert_int_eq(
        HG_Addr_lookup_wait(s.context, s.address, &addr), HG_SUCCESS);
    for (int32_t i = 0; i < 100; i++) {
        ck_assert_int_eq(
            add_call(requests, addr, LONG_MS, 1000 * i, -i, &sum), HG_SUCCESS);
        ck_assert_int_eq(sum, 999 * i);
    }
    ck_assert_int_eq(add_call(requests, addr, 0, 1, 2, NULL), HG_SUCCESS);
    ck_assert_int_eq(answer_call(requests, addr, 0, &number), HG_SUCCESS);
    ck_assert_uint_eq(number, 42);
    ck_assert_int_eq(
        say_call(requests, addr, LONG_MS, "spoken", 3, NULL), HG_SUCCESS);
    ck_assert_uint_eq(atomic_load(&shared()->said), 3);
    ck_assert_str_eq(shared()->text, "spoken");
    ck_assert_int_eq(silent_call(requests, addr, LONG_MS), HG_SUCCESS);
    ck_assert_uint_eq(atomic_load(&shared()->said), 0);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, addr), HG_SUCCESS);
    hg_request_finalize(requests, NULL);
    session_end(&s);
}
END_TEST

START_TEST(hl_call_that_fails_returns_its_error)
{
    struct session s;
    hg_request_class_t *requests;
    int32_t sum = 7;
    uint64_t begin;

    session_begin(&s, _i, &setup);
    log_expect("not registered", 0, 2);
    requests = hg_request_init(NULL, NULL, s.context);
    ck_assert_int_eq(
        talaria_call(requests, s.target, "unheard of", 0, NULL, NULL),
        HG_NOENTRY);
    ck_assert_uint_ne(nowhere_register_origin(s.hg_class), 0);
    ck_assert_int_eq(nowhere_call(requests, s.target, LONG_MS, 1), HG_NOENTRY);
    begin = session_now_ms();
    ck_assert_int_eq(
        talaria_call(requests, s.target, "never", SHORT_MS, NULL, NULL),
        HG_TIMEOUT);
    ck_assert_uint_ge(session_now_ms() - begin + 1, SHORT_MS);
    ck_assert_int_eq(
        add_call(NULL, s.target, LONG_MS, 1, 2, &sum), HG_INVALID_ARG);
    ck_assert_int_eq(
        add_call(requests, HG_ADDR_NULL, LONG_MS, 1, 2, &sum), HG_INVALID_ARG);
    ck_assert_int_eq(
        talaria_call(requests, s.target, NULL, 0, NULL, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(sum, 7);
    hg_request_finalize(requests, NULL);
    session_end(&s);
}
END_TEST

START_TEST(hl_functions_nest_calls_and_waits)
{
    struct session s;
    hg_request_class_t *requests;
    int32_t doubled = 0;

    session_begin(&s, _i, &setup);
    /* With one class for both, the waits nest. */
    if (s.mode->shape == SESSION_SELF) {
        requests = hg_request_init(NULL, NULL, s.context);
        outer_class = requests;
        outer_addr = s.target;
        for (int32_t i = 0; i < 10; i++) {
            ck_assert_int_eq(
                outer_call(requests, s.target, LONG_MS, i, &doubled),
                HG_SUCCESS);
            ck_assert_int_eq(doubled, 2 * (i + 1));
        }
        hg_request_finalize(requests, NULL);
    }
    session_end(&s);
}
END_TEST

/* Threads that call on one class, all at once. */
struct caller {
    pthread_t thread;
    hg_request_class_t *requests;
    hg_addr_t addr;
    int32_t from;
    int32_t wrong;
};

static void *
caller_run(void *arg)
{
    struct caller *caller = arg;

    for (int32_t i = 0; i < 100; i++) {
        int32_t sum = 0;

        if (add_call(caller->requests, caller->addr, LONG_MS, caller->from, i,
                &sum) != HG_SUCCESS ||
            sum != caller->from + i)
            caller->wrong++;
    }
    return NULL;
}

START_TEST(hl_threads_share_a_class)
{
    enum { MANY = 4 };
    struct session s;
    struct caller callers[MANY];
    hg_request_class_t *requests;

    session_begin(&s, _i, &setup);
    if (s.mode->thread_mode == 0) {
        requests = hg_request_init(NULL, NULL, s.context);
        for (int32_t i = 0; i < MANY; i++) {
            callers[i] = (struct caller){
                .requests = requests, .addr = s.target, .from = 1000 * i};
            ck_assert_int_eq(pthread_create(&callers[i].thread, NULL,
                                 caller_run, &callers[i]),
                0);
        }
        for (int32_t i = 0; i < MANY; i++) {
            ck_assert_int_eq(pthread_join(callers[i].thread, NULL), 0);
            ck_assert_int_eq(callers[i].wrong, 0);
        }
        hg_request_finalize(requests, NULL);
    }
    session_end(&s);
}
END_TEST

static unsigned int progressed;

static int
count_progress(unsigned int timeout, void *arg)
{
    unsigned int *left = arg;

    ck_assert_uint_le(timeout, 20);
    ck_assert_uint_gt(*left, 0);
    progressed++;
    return 0;
}

static hg_request_t *due;

/* Runs no callback before it was called several times. */
static int
count_trigger(unsigned int timeout, unsigned int *flag, void *arg)
{
    unsigned int *left = arg;

    ck_assert_uint_eq(timeout, 0);
    if (*left == 0 || --*left > 0)
        return -1;
    hg_request_complete(due);
    *flag = 1;
    return 0;
}

START_TEST(hl_request_waits_with_given_functions)
{
    unsigned int left = 4, flag = 7;
    void *arg = NULL;
    hg_request_class_t *requests =
        hg_request_init(count_progress, count_trigger, &left);

    progressed = 0;

    ck_assert_ptr_nonnull(requests);
    due = hg_request_create(requests);
    ck_assert_ptr_nonnull(due);
    ck_assert_ptr_null(hg_request_get_data(due));
    hg_request_set_data(due, &flag);
    ck_assert_ptr_eq(hg_request_get_data(due), &flag);
    ck_assert_int_eq(hg_request_wait(due, 0, &flag), 0);
    ck_assert_uint_eq(flag, 0);
    /* Triggers before and after its only progress: programs that poll rely on
     * it. */
    ck_assert_uint_eq(left, 2);
    ck_assert_uint_eq(progressed, 1);
    ck_assert_int_eq(hg_request_wait(due, LONG_MS, &flag), 0);
    ck_assert_uint_eq(flag, 1);
    ck_assert_int_eq(hg_request_wait(due, LONG_MS, NULL), 0);
    hg_request_reset(due);
    left = 2;
    ck_assert_int_eq(hg_request_wait(due, LONG_MS, &flag), 0);
    ck_assert_uint_eq(flag, 1);
    ck_assert_uint_eq(left, 0);
    hg_request_destroy(due);
    hg_request_finalize(requests, &arg);
    ck_assert_ptr_eq(arg, &left);

    ck_assert_ptr_null(hg_request_init(NULL, NULL, NULL));
    ck_assert_ptr_null(hg_request_init(count_progress, NULL, &left));
    ck_assert_ptr_null(hg_request_init(NULL, count_trigger, &left));
    ck_assert_ptr_null(hg_request_create(NULL));
    ck_assert_ptr_null(hg_request_get_data(NULL));
    ck_assert_int_eq(hg_request_wait(NULL, 0, NULL), -1);
    hg_request_destroy(NULL);
    hg_request_finalize(NULL, &arg);
    ck_assert_ptr_null(arg);
}
END_TEST

static void *
complete_later(void *arg)
{
    /* By then the waiting thread is usually in progress. */
    struct timespec nap = {.tv_nsec = 30000000};

    nanosleep(&nap, NULL);
    hg_request_complete(arg);
    return NULL;
}

START_TEST(hl_request_completed_elsewhere_is_noticed)
{
    struct session s;
    hg_request_class_t *requests;
    hg_request_t *all[2];
    pthread_t thread;
    unsigned int flag = 7;
    uint64_t begin;

    session_begin(&s, _i, &setup);
    requests = hg_request_init(NULL, NULL, s.context);
    for (int i = 0; i < 2; i++)
        all[i] = hg_request_create(requests);
    begin = session_now_ms();
    ck_assert_int_eq(hg_request_waitall(2, all, SHORT_MS, &flag), 0);
    ck_assert_uint_eq(flag, 0);
    ck_assert_uint_ge(session_now_ms() - begin + 1, SHORT_MS);
    hg_request_complete(all[0]);
    ck_assert_int_eq(pthread_create(&thread, NULL, complete_later, all[1]), 0);
    begin = session_now_ms();
    ck_assert_int_eq(hg_request_waitall(2, all, LONG_MS, &flag), 0);
    ck_assert_uint_eq(flag, 1);
    ck_assert_uint_lt(session_now_ms() - begin, LONG_MS / 4);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(hg_request_waitall(0, all, 0, &flag), 0);
    ck_assert_uint_eq(flag, 1);
    ck_assert_int_eq(hg_request_waitall(-1, all, 0, &flag), -1);
    ck_assert_int_eq(hg_request_waitall(1, NULL, 0, &flag), -1);
    for (int i = 0; i < 2; i++)
        hg_request_destroy(all[i]);
    hg_request_finalize(requests, NULL);
    session_end(&s);
}
END_TEST

static void
add_cases(TCase *tcase)
{
    session_add(tcase, hl_function_is_called_and_waited_for);
    session_add(tcase, hl_call_that_fails_returns_its_error);
    session_add(tcase, hl_functions_nest_calls_and_waits);
    session_add(tcase, hl_threads_share_a_class);
    tcase_add_test(tcase, hl_request_waits_with_given_functions);
    session_add(tcase, hl_request_completed_elsewhere_is_noticed);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "hl", add_cases);
}

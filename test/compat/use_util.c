/* SPDX-License-Identifier: BSD-3-Clause */
/* Uses each function of each util header as programs written for Mercury do, in
 * C and, through use_util.cc, in C++. Exit status 0, or 1 and a line per
 * failure. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "mercury_atomic.h"
#include "mercury_core_types.h"
#include "mercury_event.h"
#include "mercury_hash_string.h"
#include "mercury_hash_table.h"
#include "mercury_list.h"
#include "mercury_log.h"
#include "mercury_mem.h"
#include "mercury_param.h"
#include "mercury_poll.h"
#include "mercury_queue.h"
#include "mercury_request.h"
#include "mercury_thread.h"
#include "mercury_thread_condition.h"
#include "mercury_thread_mutex.h"
#include "mercury_thread_pool.h"
#include "mercury_thread_rwlock.h"
#include "mercury_thread_spin.h"
#include "mercury_time.h"
#include "mercury_util.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static int wrong;

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            printf("%s:%d: not %s\n", __FILE__, __LINE__, #condition);         \
            wrong++;                                                           \
        }                                                                      \
    } while (0)

#define COUNT 1000

static hg_atomic_int32_t shared = HG_ATOMIC_VAR_INIT(0);
static hg_thread_mutex_t gate = HG_THREAD_MUTEX_INITIALIZER;
static hg_thread_cond_t changed;
static hg_thread_key_t key;

static void
use_atomic(void)
{
    hg_atomic_int32_t narrow = HG_ATOMIC_VAR_INIT(5);
    hg_atomic_int64_t wide = HG_ATOMIC_VAR_INIT(5);
    int64_t high = INT64_C(1) << 40;

    CHECK(hg_atomic_incr32(&narrow) == 6 && hg_atomic_decr32(&narrow) == 5);
    CHECK(hg_atomic_or32(&narrow, 2) == 5 && hg_atomic_and32(&narrow, 6) == 7);
    CHECK(hg_atomic_xor32(&narrow, 1) == 6 && hg_atomic_get32(&narrow) == 7);
    CHECK(!hg_atomic_cas32(&narrow, 6, 8) && hg_atomic_cas32(&narrow, 7, 8));
    hg_atomic_set32(&narrow, -1);
    CHECK(hg_atomic_get32(&narrow) == -1);
    hg_atomic_init32(&narrow, 3);
    CHECK(hg_atomic_get32(&narrow) == 3);

    CHECK(hg_atomic_incr64(&wide) == 6 && hg_atomic_decr64(&wide) == 5);
    CHECK(hg_atomic_or64(&wide, high) == 5);
    CHECK(hg_atomic_and64(&wide, high) == high + 5);
    CHECK(hg_atomic_xor64(&wide, 1) == high);
    CHECK(!hg_atomic_cas64(&wide, 1, 0) && hg_atomic_cas64(&wide, high + 1, 0));
    hg_atomic_set64(&wide, -high);
    hg_atomic_fence();
    CHECK(hg_atomic_get64(&wide) == -high);
    hg_atomic_init64(&wide, 3);
    CHECK(hg_atomic_get64(&wide) == 3);
}

/* Counts under the lock, so that other threads see it through the condition
 * too. */
static HG_THREAD_RETURN_TYPE
count_up(void *arg)
{
    int *count = (int *) arg;
    int i;

    CHECK(hg_thread_getspecific(key) == NULL);
    CHECK(hg_thread_setspecific(key, arg) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_getspecific(key) == arg);
    for (i = 0; i < COUNT; i++) {
        hg_thread_mutex_lock(&gate);
        *count += 1;
        hg_thread_mutex_unlock(&gate);
        (void) hg_atomic_incr32(&shared);
    }
    (void) hg_thread_cond_broadcast(&changed);
    hg_thread_exit((hg_thread_ret_t) 0);
    return (hg_thread_ret_t) 0;
}

static void
use_threads(void)
{
    hg_thread_t threads[4];
    hg_cpu_set_t cpus;
    int count = 0;
    int i;

    CHECK(hg_thread_cond_init(&changed) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_key_create(&key) == HG_UTIL_SUCCESS);
    for (i = 0; i < 4; i++) {
        hg_thread_init(&threads[i]);
        CHECK(
            hg_thread_create(&threads[i], count_up, &count) == HG_UTIL_SUCCESS);
    }
    hg_thread_mutex_lock(&gate);
    while (count < 4 * COUNT)
        (void) hg_thread_cond_timedwait(&changed, &gate, 100);
    hg_thread_mutex_unlock(&gate);
    for (i = 0; i < 4; i++)
        CHECK(hg_thread_join(threads[i]) == HG_UTIL_SUCCESS);
    CHECK(hg_atomic_get32(&shared) == 4 * COUNT);
    CHECK(hg_thread_equal(hg_thread_self(), pthread_self()));
    CHECK(hg_thread_yield() == HG_UTIL_SUCCESS);
    CHECK(hg_thread_getaffinity(hg_thread_self(), &cpus) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_setaffinity(hg_thread_self(), &cpus) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_key_delete(key) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_cond_destroy(&changed) == HG_UTIL_SUCCESS);
}

static HG_THREAD_RETURN_TYPE
sleep_on(void *arg)
{
    for (;;)
        (void) hg_time_sleep(*(const hg_time_t *) arg);
    return (hg_thread_ret_t) 0;
}

static void
use_waits(void)
{
    hg_thread_mutex_t mutex;
    hg_thread_cond_t cond;
    hg_time_t begin, end, hour = hg_time_from_ms(3600000);
    hg_thread_t thread;

    CHECK(hg_thread_mutex_init(&mutex) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_cond_init(&cond) == HG_UTIL_SUCCESS);
    hg_thread_mutex_lock(&mutex);
    CHECK(hg_thread_mutex_try_lock(&mutex) == HG_UTIL_FAIL);
    CHECK(hg_time_get_current(&begin) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_cond_timedwait(&cond, &mutex, 20) == HG_UTIL_FAIL);
    CHECK(hg_time_get_current(&end) == HG_UTIL_SUCCESS);
    CHECK(hg_time_diff(end, begin) >= 0.02);
    hg_thread_mutex_unlock(&mutex);
    CHECK(hg_thread_cond_signal(&cond) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_cond_destroy(&cond) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_mutex_destroy(&mutex) == HG_UTIL_SUCCESS);

    CHECK(hg_thread_create(&thread, sleep_on, &hour) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_cancel(thread) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_join(thread) == HG_UTIL_SUCCESS);
}

static void
use_locks(void)
{
    hg_thread_mutex_t mutex;
    hg_thread_spin_t spin;
    hg_thread_rwlock_t rwlock;

    CHECK(hg_thread_mutex_init_fast(&mutex) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_mutex_try_lock(&mutex) == HG_UTIL_SUCCESS);
    hg_thread_mutex_unlock(&mutex);
    CHECK(hg_thread_mutex_destroy(&mutex) == HG_UTIL_SUCCESS);

    CHECK(hg_thread_spin_init(&spin) == HG_UTIL_SUCCESS);
    hg_thread_spin_lock(&spin);
    CHECK(hg_thread_spin_try_lock(&spin) == HG_UTIL_FAIL);
    hg_thread_spin_unlock(&spin);
    CHECK(hg_thread_spin_try_lock(&spin) == HG_UTIL_SUCCESS);
    hg_thread_spin_unlock(&spin);
    CHECK(hg_thread_spin_destroy(&spin) == HG_UTIL_SUCCESS);

    CHECK(hg_thread_rwlock_init(&rwlock) == HG_UTIL_SUCCESS);
    hg_thread_rwlock_rdlock(&rwlock);
    CHECK(hg_thread_rwlock_try_rdlock(&rwlock) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_rwlock_try_wrlock(&rwlock) == HG_UTIL_FAIL);
    hg_thread_rwlock_release_rdlock(&rwlock);
    hg_thread_rwlock_release_rdlock(&rwlock);
    hg_thread_rwlock_wrlock(&rwlock);
    CHECK(hg_thread_rwlock_try_rdlock(&rwlock) == HG_UTIL_FAIL);
    hg_thread_rwlock_release_wrlock(&rwlock);
    CHECK(hg_thread_rwlock_try_wrlock(&rwlock) == HG_UTIL_SUCCESS);
    hg_thread_rwlock_release_wrlock(&rwlock);
    CHECK(hg_thread_rwlock_destroy(&rwlock) == HG_UTIL_SUCCESS);
}

static hg_atomic_int32_t ran = HG_ATOMIC_VAR_INIT(0);

/* With one thread, in the order of posting: the n-th finds n. */
static HG_THREAD_RETURN_TYPE
run_in_turn(void *arg)
{
    int *turn = (int *) arg;

    *turn = hg_atomic_incr32(&ran);
    return (hg_thread_ret_t) 0;
}

static void
use_pool(unsigned int threads)
{
    static struct hg_thread_work work[COUNT];
    static int turns[COUNT];
    hg_thread_pool_t *pool = NULL;
    int i, last = 0;

    hg_atomic_set32(&ran, 0);
    CHECK(hg_thread_pool_init(0, &pool) < 0 && pool == NULL);
    CHECK(hg_thread_pool_init(1, NULL) < 0);
    CHECK(hg_thread_pool_init(threads, &pool) == HG_UTIL_SUCCESS);
    CHECK(hg_thread_pool_post(NULL, &work[0]) < 0);
    CHECK(hg_thread_pool_post(pool, NULL) < 0);
    work[0].func = NULL;
    CHECK(hg_thread_pool_post(pool, &work[0]) < 0);
    for (i = 0; i < COUNT; i++) {
        work[i].func = run_in_turn;
        work[i].args = &turns[i];
        CHECK(hg_thread_pool_post(pool, &work[i]) == HG_UTIL_SUCCESS);
    }
    /* It runs what was posted before. */
    CHECK(hg_thread_pool_destroy(pool) == HG_UTIL_SUCCESS);
    CHECK(hg_atomic_get32(&ran) == COUNT);
    for (i = 0; threads == 1 && i < COUNT; i++)
        CHECK(turns[i] == ++last);
    CHECK(hg_thread_pool_destroy(NULL) == HG_UTIL_SUCCESS);
}

static int keys_freed, values_freed;

static unsigned int
hash_number(hg_hash_table_key_t number)
{
    return (unsigned int) *(int *) number % 100; /* many that collide */
}

static int
equal_numbers(hg_hash_table_key_t one, hg_hash_table_key_t other)
{
    return *(int *) one == *(int *) other;
}

static void
free_key(hg_hash_table_key_t number)
{
    keys_freed++;
    free(number);
}

static void
free_value(hg_hash_table_value_t number)
{
    values_freed++;
    free(number);
}

static int *
number_new(int number)
{
    int *memory = (int *) malloc(sizeof *memory);

    if (memory == NULL)
        abort();
    *memory = number;
    return memory;
}

/* Removes every other value while it iterates. */
static void
iterate(hg_hash_table_t *table)
{
    static char seen[COUNT];
    hg_hash_table_iter_t iter;
    int count = 0;

    hg_hash_table_iterate(table, &iter);
    while (hg_hash_table_iter_has_more(&iter)) {
        int value = *(int *) hg_hash_table_iter_next(&iter) - 1;

        CHECK(value >= 0 && value < COUNT && !seen[value]);
        seen[value] = 1;
        count++;
        if (value % 2 != 0)
            CHECK(hg_hash_table_remove(table, &value) == 1);
    }
    CHECK(count == COUNT);
    CHECK(hg_hash_table_iter_next(&iter) == HG_HASH_TABLE_NULL);
    CHECK(hg_hash_table_num_entries(table) == COUNT / 2);
}

static void
use_hash_table(void)
{
    hg_hash_table_t *table = hg_hash_table_new(hash_number, equal_numbers);
    int i, absent = COUNT, first = 0;

    CHECK(hg_hash_table_new(NULL, equal_numbers) == NULL);
    hg_hash_table_register_free_functions(table, free_key, free_value);
    for (i = 0; i < COUNT; i++)
        CHECK(hg_hash_table_insert(table, number_new(i), number_new(i + 1)));
    CHECK(hg_hash_table_num_entries(table) == COUNT);
    for (i = 0; i < COUNT; i++) {
        int *value = (int *) hg_hash_table_lookup(table, &i);

        CHECK(value != NULL && *value == i + 1);
    }
    CHECK(hg_hash_table_lookup(table, &absent) == HG_HASH_TABLE_NULL);
    CHECK(hg_hash_table_remove(table, &absent) == 0);
    CHECK(keys_freed == 0 && values_freed == 0);
    /* Replaces an entry with an equal key; both key and value are freed. */
    CHECK(hg_hash_table_insert(table, number_new(0), number_new(1)));
    CHECK(keys_freed == 1 && values_freed == 1);
    CHECK(hg_hash_table_num_entries(table) == COUNT);
    iterate(table);
    CHECK(*(int *) hg_hash_table_lookup(table, &first) == 1);
    hg_hash_table_free(table);
    CHECK(keys_freed == COUNT + 1 && values_freed == COUNT + 1);
    hg_hash_table_free(NULL);
}

static void
use_hash_string(void)
{
    /* Compared with the definition; bytes count as 0 to 255. */
    CHECK(hg_hash_string("") == 5381U);
    CHECK(hg_hash_string("a") == 5381U * 33 + 97);
    CHECK(hg_hash_string("my_rpc_name") == 2814289935U);
    CHECK(hg_hash_string("\xe4") == 5381U * 33 + 0xe4);
}

static void
use_time(void)
{
    hg_time_t now, coarse, span;

    CHECK(hg_time_get_current(&now) == HG_UTIL_SUCCESS);
    CHECK(hg_time_get_current_ms(&coarse) == HG_UTIL_SUCCESS);
    CHECK(hg_time_diff(now, coarse) < 1 && hg_time_diff(coarse, now) < 1);
    span = hg_time_from_ms(1999);
    CHECK(span.tv_sec == 1 && span.tv_nsec == 999000000);
    CHECK(hg_time_to_ms(span) == 1999);
    CHECK(hg_time_to_ms(hg_time_from_double(0.0000001)) == 1);
    span = hg_time_add(span, hg_time_from_ms(2));
    CHECK(span.tv_sec == 2 && span.tv_nsec == 1000000);
    span =
        hg_time_subtract(hg_time_from_double(1.25), hg_time_from_double(2.5));
    CHECK(span.tv_sec == -2 && span.tv_nsec == 750000000);
    CHECK(hg_time_to_double(span) == -1.25);
    CHECK(hg_time_diff(hg_time_from_ms(5000), hg_time_from_ms(2000)) == 3.0);
    CHECK(hg_time_less(span, now) && !hg_time_less(now, span));
    CHECK(hg_time_less(hg_time_from_ms(1), hg_time_from_ms(2)));
    CHECK(hg_time_sleep(hg_time_from_ms(1)) == HG_UTIL_SUCCESS);
    span.tv_nsec = -1;
    CHECK(hg_time_sleep(span) == HG_UTIL_FAIL);
    CHECK(
        hg_time_stamp() != NULL && strlen(hg_time_stamp()) < HG_UTIL_STAMP_MAX);
}

static void
on_alarm(int number)
{
    (void) number;
}

/* A wait interrupted by a signal returns that. */
static void
interrupt_wait(hg_poll_set_t *set)
{
    struct hg_poll_event event;
    struct itimerval soon;
    unsigned int count = 7;

    memset(&soon, 0, sizeof soon);
    soon.it_value.tv_usec = 20000;
    (void) signal(SIGALRM, on_alarm);
    CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
    CHECK(hg_poll_wait(set, 10000, 1, &event, &count) == HG_UTIL_SUCCESS);
    CHECK(count == 1 && event.events == HG_POLLINTR);
}

static void
use_poll(void)
{
    hg_poll_set_t *set = hg_poll_create();
    struct hg_poll_event event, events[4];
    int fd = hg_event_create(), ends[2] = {-1, -1};
    unsigned int count = 7;
    bool was_set = true;

    CHECK(set != NULL && fd >= 0 && hg_poll_get_fd(set) >= 0);
    event.events = HG_POLLIN;
    event.data.u64 = UINT64_C(77) << 32;
    CHECK(hg_poll_add(set, fd, &event) == HG_UTIL_SUCCESS);
    CHECK(hg_poll_add(set, fd, &event) == HG_UTIL_FAIL);
    CHECK(hg_poll_wait(set, 0, 4, events, &count) == HG_UTIL_SUCCESS);
    CHECK(count == 0);
    CHECK(hg_event_get(fd, &was_set) == HG_UTIL_SUCCESS && !was_set);
    CHECK(hg_event_set(fd) == HG_UTIL_SUCCESS);
    CHECK(hg_poll_wait(set, 0, 4, events, &count) == HG_UTIL_SUCCESS);
    CHECK(count == 1 && events[0].events == HG_POLLIN);
    CHECK(events[0].data.u64 == UINT64_C(77) << 32);
    CHECK(hg_event_get(fd, &was_set) == HG_UTIL_SUCCESS && was_set);
    CHECK(hg_event_get(fd, &was_set) == HG_UTIL_SUCCESS && !was_set);
    interrupt_wait(set);

    CHECK(pipe(ends) == 0);
    event.events = HG_POLLOUT;
    event.data.fd = ends[1];
    CHECK(hg_poll_add(set, ends[1], &event) == HG_UTIL_SUCCESS);
    CHECK(hg_poll_wait(set, 0, 4, events, &count) == HG_UTIL_SUCCESS);
    CHECK(count == 1 && events[0].events == HG_POLLOUT);
    CHECK(events[0].data.fd == ends[1]);
    (void) close(ends[0]);
    CHECK(hg_poll_wait(set, 0, 4, events, &count) == HG_UTIL_SUCCESS);
    CHECK(count == 1 && (events[0].events & HG_POLLERR) != 0);

    CHECK(hg_poll_wait(set, 0, 0, events, &count) == HG_UTIL_FAIL);
    CHECK(hg_poll_wait(NULL, 0, 1, events, &count) == HG_UTIL_FAIL);
    CHECK(hg_poll_destroy(set) == HG_UTIL_FAIL);
    CHECK(hg_poll_remove(set, ends[1]) == HG_UTIL_SUCCESS);
    CHECK(hg_poll_remove(set, ends[1]) == HG_UTIL_FAIL);
    CHECK(hg_poll_remove(set, fd) == HG_UTIL_SUCCESS);
    CHECK(hg_poll_destroy(set) == HG_UTIL_SUCCESS);
    CHECK(hg_poll_destroy(NULL) == HG_UTIL_SUCCESS);
    (void) close(ends[1]);
    CHECK(hg_event_destroy(fd) == HG_UTIL_SUCCESS);
    CHECK(hg_event_set(fd) == HG_UTIL_FAIL);
    CHECK(hg_event_get(fd, &was_set) == HG_UTIL_FAIL);
    CHECK(hg_event_destroy(fd) == HG_UTIL_FAIL);
}

static void
use_mem(void)
{
    char *memory = (char *) hg_mem_aligned_alloc(4096, 10000);
    void *huge;
    size_t size;

    CHECK(hg_mem_get_page_size() == sysconf(_SC_PAGESIZE));
    CHECK(hg_mem_get_hugepage_size() >= 0);
    CHECK(memory != NULL && (uintptr_t) memory % 4096 == 0);
    memset(memory, 1, 10000);
    hg_mem_aligned_free(memory);
    CHECK(hg_mem_aligned_alloc(24, 10) == NULL);
    memory = (char *) hg_mem_header_alloc(40, HG_MEM_CACHE_LINE_SIZE, 100);
    CHECK(memory != NULL && (uintptr_t) memory % HG_MEM_CACHE_LINE_SIZE == 0);
    memset(memory - 40, 1, 140);
    hg_mem_header_free(40, HG_MEM_CACHE_LINE_SIZE, memory);
    memory = (char *) hg_mem_header_alloc(3, 0, 5);
    CHECK(memory != NULL);
    memset(memory - 3, 1, 8);
    hg_mem_header_free(3, 0, memory);
    CHECK(hg_mem_header_alloc(3, 24, 5) == NULL);
    CHECK(hg_mem_header_alloc(3, 8, SIZE_MAX - 4) == NULL);
    hg_mem_header_free(3, 8, NULL);
    /* Usually a machine has none. */
    size = (size_t) hg_mem_get_hugepage_size();
    huge = hg_mem_huge_alloc(size);
    if (huge != NULL)
        CHECK(hg_mem_huge_free(huge, size) == 0);
    huge = hg_mem_huge_alloc(1); /* one page */
    if (huge != NULL)
        CHECK(hg_mem_huge_free(huge, 1) == 0);
    CHECK(hg_mem_huge_free((char *) &huge + 1, 1) == HG_UTIL_FAIL);
}

struct item {
    int number;
    TAILQ_ENTRY(item) all;
    LIST_ENTRY(item) some;
};

static void
use_queue(void)
{
    TAILQ_HEAD(, item) queue = TAILQ_HEAD_INITIALIZER(queue);
    LIST_HEAD(, item) list = LIST_HEAD_INITIALIZER(list);
    struct item items[3], *item;
    int sum = 0, i;

    for (i = 0; i < 3; i++) {
        items[i].number = MAX(i, 1);
        TAILQ_INSERT_TAIL(&queue, &items[i], all);
        LIST_INSERT_HEAD(&list, &items[i], some);
    }
    TAILQ_FOREACH (item, &queue, all)
        sum = sum * 10 + item->number;
    LIST_FOREACH (item, &list, some)
        sum = sum * 10 + item->number;
    CHECK(sum == 112211 && powerof2(64) && MIN(1, 2) == 1);
}

static int written;

static int
write_log(FILE *stream, const char *format, ...)
{
    written += stream == stdout && format != NULL;
    return 0;
}

static void
use_log(void)
{
    CHECK(hg_log_name_to_level("warning") == HG_LOG_LEVEL_WARNING);
    CHECK(hg_log_name_to_level("err") == HG_LOG_LEVEL_ERROR);
    CHECK(hg_log_name_to_level("loud") == HG_LOG_LEVEL_NONE);
    CHECK(strcmp(hg_log_level_to_string(HG_LOG_LEVEL_DEBUG), "debug") == 0);
    hg_log_set_stream_error(stdout);
    hg_log_set_stream_warning(stdout);
    hg_log_set_stream_debug(stdout);
    hg_log_set_func(write_log);
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    CHECK(HG_Init("no such thing", HG_FALSE) == NULL && written == 0);
    hg_log_set_level(HG_LOG_LEVEL_ERROR);
    hg_log_set_subsys("all");
    CHECK(HG_Init("no such thing", HG_FALSE) == NULL && written > 0);
    hg_log_set_func(NULL);
    HG_Util_set_log_level("debug");
}

static hg_request_t *request;

static int
progress(unsigned int timeout, void *arg)
{
    (void) timeout;
    *(int *) arg += 1;
    return HG_UTIL_SUCCESS;
}

static int
trigger(unsigned int timeout, unsigned int *flag, void *arg)
{
    (void) timeout;
    *flag = *(int *) arg >= 3;
    if (*flag)
        hg_request_complete(request);
    return HG_UTIL_SUCCESS;
}

/* The loop of a program that polls without waiting makes progress. */
static void
use_request(void)
{
    int calls = 0, turns = 0;
    unsigned int flag = 0;
    void *arg = NULL;
    hg_request_class_t *requests = hg_request_init(progress, trigger, &calls);

    request = hg_request_create(requests);
    while (!flag && turns++ < 10)
        CHECK(hg_request_wait(request, 0, &flag) == HG_UTIL_SUCCESS);
    CHECK(flag == 1 && calls == 3);
    hg_request_reset(request);
    calls = 0;
    CHECK(hg_request_waitall(1, &request, 1000, &flag) == HG_UTIL_SUCCESS);
    CHECK(flag == 1);
    hg_request_set_data(request, &calls);
    CHECK(hg_request_get_data(request) == &calls);
    hg_request_destroy(request);
    hg_request_finalize(requests, &arg);
    CHECK(arg == &calls);
}

int
main(void)
{
    unsigned int major = 0, minor = 0, patch = 7;

    HG_Util_version_get(&major, &minor, &patch);
    HG_Util_version_get(NULL, NULL, NULL);
    CHECK(major == HG_UTIL_VERSION_MAJOR && minor == HG_UTIL_VERSION_MINOR &&
          patch == HG_UTIL_VERSION_PATCH);
    use_atomic();
    use_threads();
    use_waits();
    use_locks();
    use_pool(1);
    use_pool(4);
    use_hash_table();
    use_hash_string();
    use_time();
    use_poll();
    use_mem();
    use_queue();
    use_log();
    use_request();
    return wrong != 0;
}

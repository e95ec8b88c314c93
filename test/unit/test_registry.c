/* SPDX-License-Identifier: BSD-3-Clause */
/* The RPCs of a class by id: found, replaced, removed and rejected, also while
 * another thread adds. */
#include "hg/registry.h"

#include "log_watch.h"
#include "runner.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#define MANY 5000U
#define READERS 2U

static struct hg_registry registry;

static hg_return_t
in_proc(hg_proc_t proc, void *data)
{
    return HG_SUCCESS;
}

static hg_return_t
out_proc(hg_proc_t proc, void *data)
{
    return HG_SUCCESS;
}

static hg_return_t
handler(hg_handle_t handle)
{
    return HG_SUCCESS;
}

static hg_return_t
other_handler(hg_handle_t handle)
{
    return HG_BUSY;
}

static void
count_free(void *data)
{
    ++*(unsigned *) data;
}

static void
begin(void)
{
    log_watch_begin();
    log_watch_install();
    ck_assert_int_eq(hg_registry_init(&registry, false, false), HG_SUCCESS);
}

static void
end(void)
{
    hg_registry_finish(&registry);
    log_watch_check();
}

static void
add(hg_id_t id, const char *name)
{
    ck_assert_int_eq(
        hg_registry_add(&registry, id, name, in_proc, out_proc, handler),
        HG_SUCCESS);
}

static struct hg_rpc_table *
table(void)
{
    return atomic_load_explicit(&registry.table, memory_order_relaxed);
}

/* Ids of three kinds: sequential, far apart, and descending from the top. */
static hg_id_t
id_at(uint32_t i)
{
    switch (i % 3) {
    case 0:
        return i + 1;
    case 1:
        return (hg_id_t) i << 32;
    default:
        return UINT64_MAX - i;
    }
}

/* Peers compute the same id. */
START_TEST(id_of_name_is_the_same_in_all_processes)
{
    ck_assert_uint_eq(hg_registry_id(""), 0x02cc5d05);
    ck_assert_uint_eq(hg_registry_id("a"), 0x550d7456);
    ck_assert_uint_eq(hg_registry_id("abc"), 0x32d153ff);
}
END_TEST

START_TEST(registry_empty_finds_nothing)
{
    ck_assert_ptr_null(hg_registry_find(&registry, 0));
    ck_assert_ptr_null(hg_registry_find(&registry, 1));
    ck_assert_ptr_null(hg_registry_find(&registry, UINT64_MAX));
    ck_assert_int_eq(hg_registry_remove(&registry, 1), HG_NOENTRY);
}
END_TEST

START_TEST(registry_added_is_found_with_all_fields)
{
    char name[] = "copied";
    struct hg_rpc *rpc;

    add(7, name);
    name[0] = 'X';
    rpc = hg_registry_find(&registry, 7);
    ck_assert_ptr_nonnull(rpc);
    ck_assert_uint_eq(rpc->id, 7);
    ck_assert_str_eq(rpc->name, "copied");
    ck_assert(rpc->in_proc == in_proc && rpc->out_proc == out_proc);
    ck_assert(rpc->handler == handler);
    ck_assert(!rpc->no_response);
    ck_assert_ptr_null(rpc->data);
    ck_assert_ptr_null(hg_registry_find(&registry, 8));
}
END_TEST

START_TEST(registry_thousands_are_found_while_it_grows)
{
    static struct hg_rpc *before[MANY];
    uint32_t capacity = table()->capacity;

    for (uint32_t i = 0; i < MANY; i++) {
        add(id_at(i), NULL);
        before[i] = hg_registry_find(&registry, id_at(i));
        ck_assert_uint_eq(table()->used, i + 1);
        ck_assert_uint_le(table()->used, table()->capacity / 2);
        ck_assert_uint_eq(table()->capacity & (table()->capacity - 1), 0);
    }
    ck_assert_uint_gt(table()->capacity, capacity);
    for (uint32_t i = 0; i < MANY; i++) {
        ck_assert_ptr_nonnull(before[i]);
        ck_assert_uint_eq(before[i]->id, id_at(i));
        ck_assert_ptr_eq(hg_registry_find(&registry, id_at(i)), before[i]);
        ck_assert_ptr_null(hg_registry_find(&registry, id_at(i + MANY)));
    }
}
END_TEST

START_TEST(registry_added_again_is_replaced)
{
    struct hg_rpc *before, *rpc;

    add(7, "same");
    before = hg_registry_find(&registry, 7);
    ck_assert_int_eq(
        hg_registry_add(&registry, 7, "same", NULL, NULL, other_handler),
        HG_SUCCESS);
    rpc = hg_registry_find(&registry, 7);
    ck_assert(rpc->handler == other_handler);
    ck_assert(
        rpc->in_proc == hg_rpc_no_proc && rpc->out_proc == hg_rpc_no_proc);
    ck_assert_uint_eq(table()->used, 1);
    /* Threads that found the old one may still use it. */
    ck_assert(before->handler == handler);
    ck_assert_str_eq(before->name, "same");
}
END_TEST

START_TEST(registry_replaced_keeps_data_and_response)
{
    unsigned freed = 0;
    struct hg_rpc *rpc;

    add(7, NULL);
    rpc = hg_registry_find(&registry, 7);
    rpc->data = &freed;
    rpc->data_free = count_free;
    rpc->no_response = true;
    add(7, NULL);
    rpc = hg_registry_find(&registry, 7);
    ck_assert_ptr_eq(rpc->data, &freed);
    ck_assert(rpc->no_response);
    ck_assert_uint_eq(freed, 0);
    hg_registry_finish(&registry);
    ck_assert_uint_eq(freed, 1);
    ck_assert_int_eq(hg_registry_init(&registry, false, false), HG_SUCCESS);
}
END_TEST

START_TEST(registry_removed_is_not_found_and_data_freed)
{
    unsigned freed = 0;
    struct hg_rpc *rpc;

    add(7, NULL);
    add(8, NULL);
    rpc = hg_registry_find(&registry, 7);
    rpc->data = &freed;
    rpc->data_free = count_free;
    ck_assert_int_eq(hg_registry_remove(&registry, 7), HG_SUCCESS);
    ck_assert_uint_eq(freed, 1);
    ck_assert_ptr_null(hg_registry_find(&registry, 7));
    ck_assert_ptr_nonnull(hg_registry_find(&registry, 8));
    ck_assert_int_eq(hg_registry_remove(&registry, 7), HG_NOENTRY);
    hg_registry_finish(&registry);
    ck_assert_uint_eq(freed, 1);
    ck_assert_int_eq(hg_registry_init(&registry, false, false), HG_SUCCESS);
}
END_TEST

START_TEST(registry_removed_and_added_is_as_new)
{
    unsigned data;
    struct hg_rpc *rpc;

    for (int i = 0; i < 200; i++) {
        add(7, i % 2 ? "odd" : "even");
        rpc = hg_registry_find(&registry, 7);
        ck_assert_ptr_nonnull(rpc);
        ck_assert_str_eq(rpc->name, i % 2 ? "odd" : "even");
        ck_assert_ptr_null(rpc->data);
        ck_assert(!rpc->no_response);
        rpc->data = &data;
        rpc->no_response = true;
        ck_assert_int_eq(hg_registry_remove(&registry, 7), HG_SUCCESS);
    }
    ck_assert_uint_eq(table()->used, 1);
}
END_TEST

/* Entries that were displaced by the removed one are still found. */
START_TEST(registry_with_half_removed_finds_the_others)
{
    for (uint32_t i = 0; i < MANY; i++)
        add(id_at(i), NULL);
    for (uint32_t i = 0; i < MANY; i += 2)
        ck_assert_int_eq(hg_registry_remove(&registry, id_at(i)), HG_SUCCESS);
    for (uint32_t i = 0; i < MANY; i++) {
        struct hg_rpc *rpc = hg_registry_find(&registry, id_at(i));

        ck_assert((rpc != NULL) == (i % 2 == 1));
        ck_assert(!rpc || rpc->id == id_at(i));
    }
}
END_TEST

START_TEST(registry_id_with_other_name_is_exist)
{
    struct hg_rpc *rpc;

    log_expect("RPCs \"first\" and \"second\" have the same id", 1, 1);
    add(7, "first");
    ck_assert_int_eq(
        hg_registry_add(&registry, 7, "second", NULL, NULL, other_handler),
        HG_EXIST);
    rpc = hg_registry_find(&registry, 7);
    ck_assert_str_eq(rpc->name, "first");
    ck_assert(rpc->handler == handler);
    ck_assert_uint_eq(table()->used, 1);
    ck_assert_int_eq(hg_registry_remove(&registry, 7), HG_SUCCESS);
    add(7, "second");
    ck_assert_str_eq(hg_registry_find(&registry, 7)->name, "second");
}
END_TEST

/* With the id alone, a collision cannot be detected. */
START_TEST(registry_id_without_name_replaces_any)
{
    add(7, "named");
    add(7, NULL);
    ck_assert_ptr_null(hg_registry_find(&registry, 7)->name);
    add(7, "other");
    ck_assert_str_eq(hg_registry_find(&registry, 7)->name, "other");
}
END_TEST

START_TEST(registry_single_thread_works_without_lock)
{
    struct hg_registry own;

    ck_assert_int_eq(hg_registry_init(&own, true, false), HG_SUCCESS);
    for (uint32_t i = 0; i < 1000; i++)
        ck_assert_int_eq(
            hg_registry_add(&own, id_at(i), NULL, NULL, NULL, NULL),
            HG_SUCCESS);
    ck_assert_int_eq(hg_registry_remove(&own, id_at(3)), HG_SUCCESS);
    ck_assert_ptr_null(hg_registry_find(&own, id_at(3)));
    ck_assert_ptr_nonnull(hg_registry_find(&own, id_at(4)));
    hg_registry_finish(&own);
}
END_TEST

/* What reader threads do while the test adds, and failures that they saw. */
static struct {
    _Atomic uint32_t added; /* ids added so far */
    _Atomic bool stop;
    _Atomic uint32_t reading; /* readers that have started */
    _Atomic uint32_t faults;
} race;

static void
readers_start(pthread_t *threads, void *(*body)(void *) )
{
    atomic_store_explicit(&race.added, 0, memory_order_relaxed);
    atomic_store_explicit(&race.stop, false, memory_order_relaxed);
    for (uint32_t i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, body, NULL), 0);
    while (atomic_load_explicit(&race.reading, memory_order_relaxed) < READERS)
        sched_yield();
}

static void
readers_stop(const pthread_t *threads)
{
    atomic_store_explicit(&race.stop, true, memory_order_relaxed);
    for (uint32_t i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(race.faults, 0);
}

static bool
reading(void)
{
    return !atomic_load_explicit(&race.stop, memory_order_relaxed);
}

static void
fault_unless(bool condition)
{
    if (!condition)
        atomic_fetch_add_explicit(&race.faults, 1, memory_order_relaxed);
}

static void *
find_what_is_added(void *arg)
{
    atomic_fetch_add_explicit(&race.reading, 1, memory_order_relaxed);
    while (reading()) {
        /* Acquire pairs with the release after each add. */
        uint32_t added =
            atomic_load_explicit(&race.added, memory_order_acquire);

        for (uint32_t i = added > 50 ? added - 50 : 0; i < added; i++) {
            struct hg_rpc *rpc = hg_registry_find(&registry, id_at(i));

            fault_unless(rpc && rpc->id == id_at(i) && rpc->handler == handler);
        }
    }
    return NULL;
}

START_TEST(registry_read_while_adding_finds_all_added)
{
    pthread_t threads[READERS];

    readers_start(threads, find_what_is_added);
    for (uint32_t i = 0; i < MANY; i++) {
        add(id_at(i), NULL);
        /* Release pairs with the acquire of the readers. */
        atomic_store_explicit(&race.added, i + 1, memory_order_release);
    }
    readers_stop(threads);
}
END_TEST

static void *
find_what_is_replaced(void *arg)
{
    atomic_fetch_add_explicit(&race.reading, 1, memory_order_relaxed);
    while (reading()) {
        struct hg_rpc *rpc = hg_registry_find(&registry, 7);

        fault_unless(
            rpc && rpc->id == 7 && strcmp(rpc->name, "seven") == 0 &&
            (rpc->handler == handler || rpc->handler == other_handler));
    }
    return NULL;
}

START_TEST(registry_read_while_replacing_finds_one_of_them)
{
    pthread_t threads[READERS];

    add(7, "seven");
    readers_start(threads, find_what_is_replaced);
    for (uint32_t i = 0; i < 4 * MANY; i++)
        ck_assert_int_eq(hg_registry_add(&registry, 7, "seven", NULL, NULL,
                             i % 2 ? handler : other_handler),
            HG_SUCCESS);
    readers_stop(threads);
}
END_TEST

/* Two ids that collide in a table of any capacity: the inverse of the hash
 * multiplication. */
static hg_id_t
id_forge(uint32_t place, uint32_t which)
{
    return ((uint64_t) place << 32 | which) * 0xf1de83e19937733dULL;
}

static void *
find_what_is_not_there(void *arg)
{
    atomic_fetch_add_explicit(&race.reading, 1, memory_order_relaxed);
    while (reading()) {
        uint32_t next = atomic_load_explicit(&race.added, memory_order_relaxed);

        fault_unless(!hg_registry_find(&registry, id_forge(next, 1)));
    }
    return NULL;
}

START_TEST(registry_read_while_adding_finds_no_other)
{
    pthread_t threads[READERS];

    readers_start(threads, find_what_is_not_there);
    for (uint32_t i = 0; i < 8 * MANY; i++) {
        add(id_forge(i, 0), NULL);
        atomic_store_explicit(&race.added, i + 1, memory_order_relaxed);
    }
    readers_stop(threads);
}
END_TEST

/* Both threads add the same ids, in opposite order. */
static uint32_t given[MANY]; /* attached to an RPC one after the other */

/* User data of an RPC are consistent when found. */
static void *
find_what_is_given(void *arg)
{
    const struct hg_rpc *rpc = hg_registry_find(&registry, 7);

    atomic_fetch_add_explicit(&race.reading, 1, memory_order_relaxed);
    while (reading()) {
        const uint32_t *data = hg_rpc_data(rpc);

        fault_unless(!data || *data == (uint32_t) (data - given));
    }
    return NULL;
}

START_TEST(registry_data_read_while_replaced_are_consistent)
{
    pthread_t threads[READERS];

    ck_assert_int_eq(
        hg_registry_add(&registry, 7, "seven", NULL, NULL, handler),
        HG_SUCCESS);
    readers_start(threads, find_what_is_given);
    for (uint32_t i = 0; i < MANY; i++) {
        given[i] = i;
        hg_rpc_set_data(hg_registry_find(&registry, 7), &given[i], NULL);
    }
    readers_stop(threads);
}
END_TEST

static void *
add_from_the_end(void *arg)
{
    for (uint32_t i = MANY; i-- > 0;)
        fault_unless(hg_registry_add(&registry, id_at(i), "n", NULL, NULL,
                         handler) == HG_SUCCESS);
    return NULL;
}

START_TEST(registry_added_by_two_threads_contains_each_once)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, add_from_the_end, NULL), 0);
    for (uint32_t i = 0; i < MANY; i++)
        add(id_at(i), "n");
    pthread_join(thread, NULL);
    ck_assert_uint_eq(race.faults, 0);
    ck_assert_uint_eq(table()->used, MANY);
    for (uint32_t i = 0; i < MANY; i++)
        ck_assert_ptr_nonnull(hg_registry_find(&registry, id_at(i)));
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("registry");

    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, id_of_name_is_the_same_in_all_processes);
    tcase_add_test(tcase, registry_empty_finds_nothing);
    tcase_add_test(tcase, registry_added_is_found_with_all_fields);
    tcase_add_test(tcase, registry_thousands_are_found_while_it_grows);
    tcase_add_test(tcase, registry_added_again_is_replaced);
    tcase_add_test(tcase, registry_replaced_keeps_data_and_response);
    tcase_add_test(tcase, registry_removed_is_not_found_and_data_freed);
    tcase_add_test(tcase, registry_removed_and_added_is_as_new);
    tcase_add_test(tcase, registry_with_half_removed_finds_the_others);
    tcase_add_test(tcase, registry_id_with_other_name_is_exist);
    tcase_add_test(tcase, registry_id_without_name_replaces_any);
    tcase_add_test(tcase, registry_single_thread_works_without_lock);
    tcase_add_test(tcase, registry_read_while_adding_finds_all_added);
    tcase_add_test(tcase, registry_read_while_replacing_finds_one_of_them);
    tcase_add_test(tcase, registry_read_while_adding_finds_no_other);
    tcase_add_test(tcase, registry_data_read_while_replaced_are_consistent);
    tcase_add_test(tcase, registry_added_by_two_threads_contains_each_once);
    return run_tcase("registry", tcase);
}

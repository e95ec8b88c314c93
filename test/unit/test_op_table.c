/* SPDX-License-Identifier: BSD-3-Clause */
/* Ids of transfers: each use has its own, and a stale one matches nothing. */
#include "bulk/op.h"
#include "runner.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define OPS 1000
#define USES 100

static void
never(struct bulk_op *op)
{
    ck_abort_msg("cancelled transfer in slot %u by a stale id", op->slot);
}

static struct bulk_op *ops;

static void
set_up(void)
{
    ops = calloc(OPS, sizeof *ops);
    ck_assert_ptr_nonnull(ops);
    for (int i = 0; i < OPS; i++)
        ck_assert_int_eq(bulk_op_table_add(&ops[i]), HG_SUCCESS);
}

static void
tear_down(void)
{
    for (int i = 0; i < OPS; i++)
        bulk_op_table_remove(&ops[i]);
    free(ops);
}

static int
compare(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (const hg_op_id_t *) a;
    uintptr_t y = (uintptr_t) * (const hg_op_id_t *) b;

    return x < y ? -1 : x > y;
}

START_TEST(op_table_ids_are_unique_per_use)
{
    hg_op_id_t *ids = calloc((size_t) OPS * USES, sizeof(hg_op_id_t));

    ck_assert_ptr_nonnull(ids);
    for (int use = 0; use < USES; use++) {
        for (int i = 0; i < OPS; i++)
            ids[use * OPS + i] = bulk_op_table_begin(&ops[i]);
        for (int i = 0; i < OPS; i++)
            bulk_op_table_end(&ops[i]);
    }
    qsort(ids, (size_t) OPS * USES, sizeof ids[0], compare);
    ck_assert_ptr_ne(ids[0], HG_OP_ID_NULL);
    for (int i = 1; i < OPS * USES; i++)
        ck_assert_ptr_ne(ids[i], ids[i - 1]);
    free(ids);
}
END_TEST

START_TEST(op_table_stale_and_forged_ids_find_nothing)
{
    hg_op_id_t first = bulk_op_table_begin(&ops[0]);

    bulk_op_table_end(&ops[0]);
    bulk_op_table_cancel(first, never);
    (void) bulk_op_table_begin(&ops[0]);
    bulk_op_table_cancel(first, never);
    bulk_op_table_end(&ops[0]);
    bulk_op_table_cancel(HG_OP_ID_NULL, never);
    bulk_op_table_cancel((hg_op_id_t) UINTPTR_MAX, never);
    bulk_op_table_cancel((hg_op_id_t) &first, never);
}
END_TEST

START_TEST(op_table_slot_reused_keeps_its_generation)
{
    struct bulk_op *last = &ops[OPS - 1];
    hg_op_id_t stale = bulk_op_table_begin(last);

    bulk_op_table_end(last);
    bulk_op_table_remove(last);
    ck_assert_int_eq(bulk_op_table_add(last), HG_SUCCESS);
    ck_assert_ptr_ne(bulk_op_table_begin(last), stale);
    bulk_op_table_cancel(stale, never);
    bulk_op_table_end(last);
}
END_TEST

#define ROUNDS 4000

static struct {
    _Atomic uintptr_t id; /* id of the active transfer */
    _Atomic bool stop;
} raced;

static void
count(struct bulk_op *op)
{
    op->size++;
}

static void *
cancel_raced(void *arg)
{
    (void) arg;
    while (!atomic_load_explicit(&raced.stop, memory_order_relaxed))
        bulk_op_table_cancel_locked(
            (hg_op_id_t) atomic_load_explicit(&raced.id, memory_order_acquire),
            count);
    return NULL;
}

/* After the end the owner has sole access: ThreadSanitizer would report a
 * cancel that still uses it. */
START_TEST(op_table_end_waits_for_a_running_cancel)
{
    struct bulk_op *op = &ops[0];
    pthread_t canceler;

    ck_assert_int_eq(pthread_create(&canceler, NULL, cancel_raced, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        atomic_store_explicit(&raced.id, (uintptr_t) bulk_op_table_begin(op),
            memory_order_release);
        if (i % 16 == 0)
            sched_yield();
        bulk_op_table_end(op);
        op->size++;
    }
    atomic_store_explicit(&raced.stop, true, memory_order_relaxed);
    pthread_join(canceler, NULL);
    ck_assert_uint_ge(op->size, ROUNDS);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("op_table");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, op_table_ids_are_unique_per_use);
    tcase_add_test(tcase, op_table_stale_and_forged_ids_find_nothing);
    tcase_add_test(tcase, op_table_slot_reused_keeps_its_generation);
    tcase_add_test(tcase, op_table_end_waits_for_a_running_cancel);
    return run_tcase("op_table", tcase);
}

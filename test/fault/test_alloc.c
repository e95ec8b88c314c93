/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_alloc TRANSPORT [auto_sm]: each allocation of a workload fails, one per
 * run. The run continues or reports an error; nothing is lost, leaked or left
 * waiting, and nothing crashes. Over na+sm every allocation of the process;
 * over other transports only those of libtalaria and the plugins, since
 * libfabric and UCX do not survive all of theirs.
 */
#include "counts.h"
#include "heap.h"
#include "run.h"
#include "runner.h"
#include "workload.h"

#include <check.h>
#include <string.h>

#define RUN_MS 20000

static struct workload_rule rule = {.failed = heap_failed};

/* Allocations that the library never frees: the table of transfer ids. */
static unsigned permanent = 1;

/* Whether all allocations of the process fail, or the library's only. */
static bool
whole(void)
{
    return strncmp(rule.transport, "na+sm", 5) == 0;
}

static void
body(void *arg)
{
    long fail_at = *(long *) arg;
    struct holdings before;
    char left[1000];
    unsigned count;

    workload_prepare();
    holdings_take(&before);
    heap_begin(whole() ? HEAP_ALL : HEAP_OURS, fail_at, run_current->fault,
        sizeof run_current->fault);
    workload_run(&rule);
    heap_end();
    run_current->count = heap_count();
    run_current->failed = heap_failed();
    holdings_compare(&before);
    count = heap_left(left, sizeof left);
    run_current->left = count;
    if (count > permanent)
        run_fail("%u allocations leaked; %s", count, left);
}

static bool
run(long fail_at)
{
    return run_apart(body, &fail_at, RUN_MS);
}

static void
ck_run(long fail_at)
{
    if (!run(fail_at))
        ck_abort_msg(
            "allocation %ld, while it was to %s:\n%srequested by%s\n%s",
            fail_at, run_current->doing, run_current->text, run_current->fault,
            run_current->log);
}

START_TEST(failed_allocation_is_reported_and_leaks_nothing)
{
    long count, stride, runs = test_count(TEST_FAULT_ALLOCATIONS);

    ck_run(-1);
    count = run_current->count;
    ck_assert_int_gt(count, 50);
    stride = whole() ? 1 : count / runs + 1;
    for (long i = 0; i == 0 || run_current->failed; i += stride)
        ck_run(i);
}
END_TEST

int
main(int argc, char **argv)
{
    TCase *tcase = tcase_create("alloc");

    if (argc < 2)
        return 2;
    rule.transport = argv[1];
    rule.auto_sm = argc > 2 && strcmp(argv[2], "auto_sm") == 0;
    tcase_set_timeout(tcase, 3600);
    tcase_add_test(tcase, failed_allocation_is_reported_and_leaks_nothing);
    return run_tcase("alloc", tcase);
}

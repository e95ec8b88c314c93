/* SPDX-License-Identifier: BSD-3-Clause */
/* What a class on na+sm adds to its process: mapped objects, signal
 * dispositions, threads, descriptors; and what is left after finalize. */
#include <check.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "entries.h"
#include "mercury.h"
#include "runner.h"

/* Counts lines of /proc/self/maps that contain the words. */
static unsigned
count_mapped(const char *words)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[1024];
    unsigned count = 0;

    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof line, maps))
        count += strstr(line, words) != NULL;
    fclose(maps);
    return count;
}

static void
read_dispositions(struct sigaction actions[NSIG])
{
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &actions[i]) != 0)
            actions[i] = (struct sigaction){.sa_handler = SIG_DFL};
}

static void
ck_same_dispositions(
    const struct sigaction before[NSIG], const struct sigaction after[NSIG])
{
    for (int i = 1; i < NSIG; i++) {
        ck_assert_msg(before[i].sa_handler == after[i].sa_handler &&
                          before[i].sa_flags == after[i].sa_flags,
            "disposition of signal %d changed", i);
        for (int j = 1; j < NSIG; j++)
            ck_assert_int_eq(sigismember(&before[i].sa_mask, j),
                sigismember(&after[i].sa_mask, j));
    }
}

START_TEST(process_with_class_maps_only_its_plugin)
{
    hg_class_t *hg_class;
    hg_context_t *context;

    ck_assert_uint_eq(count_mapped("libna_"), 0);
    hg_class = HG_Init("na+sm", HG_TRUE);
    ck_assert_ptr_nonnull(hg_class);
    context = HG_Context_create(hg_class);
    ck_assert_ptr_nonnull(context);
    ck_assert_uint_gt(count_mapped("libna_sm.so"), 0);
    ck_assert_uint_eq(count_mapped("libna_"), count_mapped("libna_sm.so"));
    ck_assert_uint_eq(count_mapped("libfabric"), 0);
    ck_assert_uint_eq(count_mapped("libucp"), 0);
    ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
}
END_TEST

START_TEST(process_with_class_keeps_signals_and_threads)
{
    struct sigaction before[NSIG], after[NSIG];
    sigset_t mask_before, mask_after;
    unsigned threads = count_entries("/proc/self/task");
    hg_class_t *hg_class;
    hg_context_t *context;

    read_dispositions(before);
    sigprocmask(SIG_SETMASK, NULL, &mask_before);
    hg_class = HG_Init("na+sm", HG_TRUE);
    ck_assert_ptr_nonnull(hg_class);
    context = HG_Context_create(hg_class);
    ck_assert_int_eq(HG_Progress(context, 1), HG_TIMEOUT);
    read_dispositions(after);
    sigprocmask(SIG_SETMASK, NULL, &mask_after);
    ck_same_dispositions(before, after);
    for (int i = 1; i < NSIG; i++)
        ck_assert_int_eq(
            sigismember(&mask_before, i), sigismember(&mask_after, i));
    ck_assert_uint_eq(count_entries("/proc/self/task"), threads);
    HG_Context_destroy(context);
    HG_Finalize(hg_class);
}
END_TEST

START_TEST(process_after_finalize_has_no_more_descriptors)
{
    unsigned before = 0;

    /* The first class opens descriptors that a process keeps. */
    for (int i = 0; i < 10; i++) {
        hg_class_t *hg_class = HG_Init("na+sm", HG_TRUE);
        hg_context_t *context = HG_Context_create(hg_class);

        ck_assert_ptr_nonnull(context);
        ck_assert_int_ge(HG_Event_get_wait_fd(context), 0);
        HG_Context_destroy(context);
        HG_Finalize(hg_class);
        if (i == 0)
            before = count_descriptors();
    }
    ck_assert_uint_eq(count_descriptors(), before);
}
END_TEST

int
main(void)
{
    TCase *tc = tcase_create("process");

    tcase_add_test(tc, process_with_class_maps_only_its_plugin);
    tcase_add_test(tc, process_with_class_keeps_signals_and_threads);
    tcase_add_test(tc, process_after_finalize_has_no_more_descriptors);
    return run_tcase("footprint", tc);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Host ids: to text and back, and malformed text. */
#include "na_sm.h"

#include "log_watch.h"
#include "runner.h"

#include <check.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT "01234567-89ab-cdef-fedc-ba9876543210"

static const na_sm_id_t id = {
    .high = 0x0123456789abcdef, .low = 0xfedcba9876543210};

static void
begin(void)
{
    log_watch_begin();
    log_watch_install();
}

START_TEST(host_id_is_the_same_in_each_process)
{
    na_sm_id_t mine, again;
    int status;
    pid_t child;

    ck_assert_int_eq(NA_SM_Host_id_get(&mine), NA_SUCCESS);
    ck_assert(mine.high != 0 || mine.low != 0);
    ck_assert_int_eq(NA_SM_Host_id_get(&again), NA_SUCCESS);
    ck_assert(NA_SM_Host_id_cmp(mine, again));
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        bool same = NA_SM_Host_id_get(&again) == NA_SUCCESS &&
                    NA_SM_Host_id_cmp(mine, again);

        _exit(same ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

enum { SAME, OTHER, NO_ID, NO_NAMESPACE };

/* What a process with namespaces of its own finds; a pid namespace is that of its
 * child. */
static int
id_with(int namespaces, na_sm_id_t other)
{
    na_sm_id_t own;
    int status;
    pid_t child;

    if (unshare(namespaces) != 0 && unshare(CLONE_NEWUSER | namespaces) != 0)
        return NO_NAMESPACE;
    child = fork();
    if (child == 0) {
        if (NA_SM_Host_id_get(&own) != NA_SUCCESS)
            _exit(NO_ID);
        _exit(NA_SM_Host_id_cmp(own, other) ? SAME : OTHER);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return NO_ID;
    return WEXITSTATUS(status);
}

static int
id_in_child_with(int namespaces, na_sm_id_t other)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        _exit(id_with(namespaces, other));
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : NO_ID;
}

/* Processes that see neither each other's abstract sockets nor process ids. */
START_TEST(host_id_is_another_in_other_namespaces)
{
    na_sm_id_t mine;

    ck_assert_int_eq(NA_SM_Host_id_get(&mine), NA_SUCCESS);
    ck_assert_int_eq(id_in_child_with(0, mine), SAME);
    ck_assert_int_eq(id_in_child_with(CLONE_NEWNET, mine), OTHER);
    ck_assert_int_eq(id_in_child_with(CLONE_NEWPID, mine), OTHER);
}
END_TEST

START_TEST(host_id_null_is_invalid)
{
    na_sm_id_t got = id;

    ck_assert_int_eq(NA_SM_Host_id_get(NULL), NA_INVALID_ARG);
    ck_assert_int_eq(NA_SM_Host_id_to_string(id, NULL), NA_INVALID_ARG);
    ck_assert_int_eq(NA_SM_String_to_host_id(NULL, &got), NA_INVALID_ARG);
    ck_assert_int_eq(NA_SM_String_to_host_id(TEXT, NULL), NA_INVALID_ARG);
    ck_assert(NA_SM_Host_id_cmp(got, id));
    NA_SM_Host_id_copy(NULL, id);
}
END_TEST

START_TEST(host_id_text_has_uuid_form)
{
    char text[NA_SM_HOST_ID_LEN + 2];
    na_sm_id_t got;

    memset(text, '!', sizeof text);
    ck_assert_int_eq(NA_SM_Host_id_to_string(id, text), NA_SUCCESS);
    ck_assert_str_eq(text, TEXT);
    ck_assert_uint_eq(strlen(text), NA_SM_HOST_ID_LEN);
    ck_assert_int_eq(text[NA_SM_HOST_ID_LEN + 1], '!');
    ck_assert_int_eq(NA_SM_String_to_host_id(TEXT, &got), NA_SUCCESS);
    ck_assert_uint_eq(got.high, id.high);
    ck_assert_uint_eq(got.low, id.low);
}
END_TEST

START_TEST(host_id_survives_trip)
{
    na_sm_id_t ids[] = {{0, 0}, {UINT64_MAX, UINT64_MAX}, {0, 1}, {1, 0},
        {UINT64_MAX, 0}, {1ULL << 63, 1ULL << 63}, {0, 0}};

    ck_assert_int_eq(NA_SM_Host_id_get(&ids[6]), NA_SUCCESS);
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        char text[NA_SM_HOST_ID_LEN + 1];
        na_sm_id_t got = {.high = ~ids[i].high, .low = ~ids[i].low};

        ck_assert_int_eq(NA_SM_Host_id_to_string(ids[i], text), NA_SUCCESS);
        ck_assert_int_eq(NA_SM_String_to_host_id(text, &got), NA_SUCCESS);
        ck_assert(NA_SM_Host_id_cmp(got, ids[i]));
    }
}
END_TEST

START_TEST(host_id_compare_uses_all_bits)
{
    for (int bit = 0; bit < 64; bit++) {
        na_sm_id_t high = id, low = id, copy;

        high.high ^= 1ULL << bit;
        low.low ^= 1ULL << bit;
        ck_assert(!NA_SM_Host_id_cmp(id, high));
        ck_assert(!NA_SM_Host_id_cmp(low, id));
        NA_SM_Host_id_copy(&copy, low);
        ck_assert(NA_SM_Host_id_cmp(low, copy));
    }
}
END_TEST

static const char *const malformed[] = {
    "",
    "0",
    "01234567-89ab-cdef-fedc-ba987654321",   /* a digit less */
    "01234567-89ab-cdef-fedc-ba98765432100", /* a digit more */
    TEXT " ",
    TEXT "\n",
    " 1234567-89ab-cdef-fedc-ba9876543210",
    "01234567-89ab-cdef-fedc-ba987654321g",
    "01234567-89AB-cdef-fedc-ba9876543210", /* not the form that is written */
    "012345678-9ab-cdef-fedc-ba9876543210", /* dash at another place */
    "01234567089ab0cdef0fedc0ba9876543210", /* no dash */
    "-1234567-89ab-cdef-fedc-ba9876543210", /* a dash more */
    "01234567-89ab-cdef-fedc--a9876543210",
    "------------------------------------",
    "0x234567-89ab-cdef-fedc-ba9876543210",
    "+1234567-89ab-cdef-fedc-ba9876543210",
    "0123456789abcdeffedcba9876543210",
    "01234567-89ab-cdef-fedc-ba98765432\xff\xff",
};

START_TEST(host_id_malformed_text_is_invalid)
{
    /* In an allocation of exactly its size, so that AddressSanitizer detects
     * reads beyond it. */
    char *text = strdup(malformed[_i]);
    na_sm_id_t got = id;

    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(NA_SM_String_to_host_id(text, &got), NA_INVALID_ARG);
    ck_assert(NA_SM_Host_id_cmp(got, id));
    free(text);
}
END_TEST

START_TEST(host_id_text_truncated_anywhere_is_invalid)
{
    for (size_t length = 0; length < NA_SM_HOST_ID_LEN; length++) {
        char *text = strndup(TEXT, length);
        na_sm_id_t got;

        ck_assert_ptr_nonnull(text);
        ck_assert_int_eq(NA_SM_String_to_host_id(text, &got), NA_INVALID_ARG);
        free(text);
    }
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("sm_host");

    tcase_add_checked_fixture(tcase, begin, log_watch_check);
    tcase_add_test(tcase, host_id_is_the_same_in_each_process);
    if (id_in_child_with(CLONE_NEWNET | CLONE_NEWPID, id) == NO_NAMESPACE)
        puts("skipped: no namespaces of its own");
    else
        tcase_add_test(tcase, host_id_is_another_in_other_namespaces);
    tcase_add_test(tcase, host_id_null_is_invalid);
    tcase_add_test(tcase, host_id_text_has_uuid_form);
    tcase_add_test(tcase, host_id_survives_trip);
    tcase_add_test(tcase, host_id_compare_uses_all_bits);
    tcase_add_loop_test(tcase, host_id_malformed_text_is_invalid, 0,
        sizeof malformed / sizeof malformed[0]);
    tcase_add_test(tcase, host_id_text_truncated_anywhere_is_invalid);
    return run_tcase("sm_host", tcase);
}

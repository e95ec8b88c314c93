/* SPDX-License-Identifier: BSD-3-Clause */
/* Codes: their names, and the mapping from errno. */
#include "base/error.h"
#include "na_types.h"
#include "runner.h"

#include <check.h>
#include <errno.h>

START_TEST(error_name_of_each_code_and_no_other)
{
    ck_assert_str_eq(base_error_name(NA_SUCCESS), "NA_SUCCESS");
    ck_assert_str_eq(base_error_name(NA_HOSTFIREWALL), "NA_HOSTFIREWALL");
    for (int code = 0; code < NA_RETURN_MAX; code++)
        ck_assert_ptr_nonnull(base_error_name(code));
    ck_assert_ptr_null(base_error_name(-1));
    ck_assert_ptr_null(base_error_name(NA_RETURN_MAX));
}
END_TEST

START_TEST(error_from_errno_keeps_its_meaning)
{
    static const struct {
        int err;
        na_return_t code;
    } known[] = {{0, NA_SUCCESS}, {EPERM, NA_PERMISSION}, {ENOENT, NA_NOENTRY},
        {EINTR, NA_INTERRUPT}, {EAGAIN, NA_AGAIN}, {ENOMEM, NA_NOMEM},
        {EMFILE, NA_NOMEM}, {ENFILE, NA_NOMEM}, {EACCES, NA_ACCESS},
        {EFAULT, NA_FAULT}, {EBUSY, NA_BUSY}, {EEXIST, NA_EXIST},
        {ENODEV, NA_NODEV}, {EINVAL, NA_INVALID_ARG}, {EOVERFLOW, NA_OVERFLOW},
        {EIO, NA_IO_ERROR}, {EPIPE, NA_IO_ERROR}, {-1, NA_IO_ERROR}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        ck_assert_int_eq(
            base_error_from_errno(known[i].err), (int) known[i].code);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("error");

    tcase_add_test(tcase, error_name_of_each_code_and_no_other);
    tcase_add_test(tcase, error_from_errno_keeps_its_meaning);
    return run_tcase("error", tcase);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the cases of a test program. CK_VERBOSITY says how much is printed, and
 * TALARIA_TEST_CASE which cases run. */
#ifndef RUNNER_H
#define RUNNER_H

#include <check.h>

/* Runs the suite and frees it. Returns the result of main. */
int run_suite(Suite *suite);

/* The same for a suite that consists of this tcase. */
int run_tcase(const char *name, TCase *tcase);

#endif /* RUNNER_H */

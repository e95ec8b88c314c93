/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases with the plugin that violates the ABI in one way. */
#ifndef WRONG_CASE_H
#define WRONG_CASE_H

#include "log_watch.h"
#include "wrong.h"
#include "wrong_ways.h"

#define INFO "wrong+mem"
#define COUNT(array) (int) (sizeof(array) / sizeof((array)[0]))

/* First call of a case: selects the violation, and expects its line once. */
void wrong_begin(const struct way *way);

/* Allows further lines that may be logged in consequence. */
void wrong_allow(const char *text);

/* Last call of a case. */
void wrong_end(void);

#endif /* WRONG_CASE_H */

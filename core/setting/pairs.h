/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of a program for one class: "key=value" strings, of which each
 * transport of the class takes its own. */
#ifndef SETTING_PAIRS_H
#define SETTING_PAIRS_H

#include "na_plugin.h"
#include "na_types.h"

#include <stdbool.h>
#include <stddef.h>

struct setting_pair {
    const char *key; /* string of the program, up to the '=' */
    size_t key_length;
    const char *value;
    bool taken;
};

struct setting_pairs {
    size_t count;
    struct setting_pair *pairs;
    bool refused; /* a pair has an invalid value */
};

/* Parses NULL-terminated strings, or NULL, which the caller owns and must keep.
 * INVALID_ARG: one is not key=value, or a key is given twice; fault names it.
 * NOMEM. */
na_return_t setting_pairs_init(struct setting_pairs *pairs,
    const char *const *settings, char *fault, size_t size);
void setting_pairs_finish(struct setting_pairs *pairs);

/* Returns whether every pair was taken; if not, fault names the first that was
 * not, and the nearest key of the lists, which may be NULL. */
bool setting_pairs_all_taken(const struct setting_pairs *pairs,
    const na_plugin_setting *const *const *lists, size_t count, char *fault,
    size_t size);

#endif /* SETTING_PAIRS_H */

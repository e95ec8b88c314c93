/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program sets for one class: "key=value" texts, of which each transport
 * behind the class takes its own. */
#ifndef SETTING_PAIRS_H
#define SETTING_PAIRS_H

#include "na_plugin.h"
#include "na_types.h"

#include <stdbool.h>
#include <stddef.h>

struct setting_pair {
    const char *key; /* the program's text, up to the '=' */
    size_t key_length;
    const char *value;
    bool taken;
};

struct setting_pairs {
    size_t count;
    struct setting_pair *pairs;
    bool refused; /* a value of one of them is wrong */
};

/* Takes texts apart, which stay the caller's and have to last; a NULL ends them,
 * or is in their place. INVALID_ARG: one is no pair, or two have the same key;
 * fault then says which. NOMEM. */
na_return_t setting_pairs_init(struct setting_pairs *pairs,
    const char *const *settings, char *fault, size_t size);
void setting_pairs_finish(struct setting_pairs *pairs);

/* Whether every pair was taken; if not, fault names the first that was not, and
 * the nearest key of the lists, which may be NULL. */
bool setting_pairs_all_taken(const struct setting_pairs *pairs,
    const na_plugin_setting *const *const *lists, size_t count, char *fault,
    size_t size);

#endif /* SETTING_PAIRS_H */

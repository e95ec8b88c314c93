/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of one class: each value is that of the program, else of the
 * environment, else the default. */
#ifndef SETTING_VALUES_H
#define SETTING_VALUES_H

#include "setting/pairs.h"

#include <stdint.h>

struct setting_value {
    const na_plugin_setting *setting;
    uint64_t number;
    char *text;
};

struct setting_values {
    size_t count;
    struct setting_value *values; /* in the order of the list */
};

/* Reads the values of a list, which may be NULL, and takes its keys out of
 * pairs, which may be NULL too. INVALID_ARG: an invalid value; fault names key,
 * value, source and what is valid. NOMEM. */
na_return_t setting_values_read(struct setting_values *values,
    const na_plugin_setting *const *list, struct setting_pairs *pairs,
    char *fault, size_t size);
void setting_values_finish(struct setting_values *values);

/* Returns the value of a key, or NULL: no setting has this key. */
const struct setting_value *setting_values_find(
    const struct setting_values *values, const char *key);

/* Warns about environment variables that have the prefix of a setting in the
 * list but match none, once for each name. [any thread] */
void setting_warn_unknown(const na_plugin_setting *const *list);

#endif /* SETTING_VALUES_H */

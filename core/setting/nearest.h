/* SPDX-License-Identifier: BSD-3-Clause */
/* Suggestions for misspelled keys. Independent of the core. */
#ifndef SETTING_NEAREST_H
#define SETTING_NEAREST_H

#include "na_plugin.h"

#include <stddef.h>

/* The edit distance of two keys, or of the parts of their variables after
 * TALARIA_: insertions, deletions, replacements, and swaps of neighbours. 0 if
 * both are the same. Compares the first 63 bytes. */
unsigned setting_distance(
    const char *a, size_t a_length, const char *b, size_t b_length);

/* Returns the key of the lists, which may be NULL, that is nearest to a word,
 * also to the word with the prefix of a key. NULL: the lists are empty. */
const char *setting_nearest(const char *word, size_t length,
    const na_plugin_setting *const *const *lists, size_t count);

#endif /* SETTING_NEAREST_H */

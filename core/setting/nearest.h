/* SPDX-License-Identifier: BSD-3-Clause */
/* Which key somebody meant who misspelled it. Knows nothing of the core. */
#ifndef SETTING_NEAREST_H
#define SETTING_NEAREST_H

#include "na_plugin.h"

#include <stddef.h>

/* How many letters have to be inserted, left out, replaced, or swapped with their
 * neighbours to make one key, or what follows TALARIA_ of its variable, of the
 * other: 0 if both are the same. Of each 63 bytes are looked at. */
unsigned setting_distance(
    const char *a, size_t a_length, const char *b, size_t b_length);

/* The key of some lists, which may be NULL, that is nearest to a word, or would
 * be with what stands before its dot. NULL: they are empty. */
const char *setting_nearest(const char *word, size_t length,
    const na_plugin_setting *const *const *lists, size_t count);

#endif /* SETTING_NEAREST_H */

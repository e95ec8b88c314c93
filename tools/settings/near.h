/* SPDX-License-Identifier: BSD-3-Clause */
/* Which word was probably meant. */
#ifndef SETTINGS_NEAR_H
#define SETTINGS_NEAR_H

#include <stdbool.h>

/* Searches the word that is nearest to a misspelled one. */
struct near {
    const char *word;
    const char *found; /* nearest word so far, or NULL */
    unsigned distance; /* of it */
};

void near_init(struct near *near, const char *word);
void near_try(struct near *near, const char *candidate);

/* Returns the nearest word, or NULL if even that differs in more than a third
 * of its letters. */
const char *near_result(const struct near *near);

#endif /* SETTINGS_NEAR_H */

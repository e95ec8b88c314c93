/* SPDX-License-Identifier: BSD-3-Clause */
/* The word with the smallest edit distance. */
#include "settings/near.h"

#include "setting/nearest.h"

#include <limits.h>
#include <string.h>

void
near_init(struct near *near, const char *word)
{
    *near = (struct near){.word = word, .distance = UINT_MAX};
}

void
near_try(struct near *near, const char *candidate)
{
    unsigned distance = setting_distance(
        near->word, strlen(near->word), candidate, strlen(candidate));

    if (distance < near->distance) {
        near->distance = distance;
        near->found = candidate;
    }
}

const char *
near_result(const struct near *near)
{
    if (!near->found || near->distance > (strlen(near->found) + 2) / 3)
        return NULL;
    return near->found;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The edit distance of two keys, computed row by row. */
#include "setting/nearest.h"

#include <limits.h>
#include <string.h>

#define LONGEST 63U

static unsigned
smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Folds as in the name of a variable. Without <ctype.h>: in a Turkish locale
 * the capital of 'i' is not 'I'. */
static char
fold(char c)
{
    if (c >= 'a' && c <= 'z')
        return (char) (c - 'a' + 'A');
    if (c == '.' || c == '-')
        return '_';
    return c;
}

unsigned
setting_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned char rows[3][LONGEST + 1] = {{0}};
    unsigned char *before = rows[0], *above = rows[1], *row = rows[2];

    a_length = a_length < LONGEST ? a_length : LONGEST;
    b_length = b_length < LONGEST ? b_length : LONGEST;
    for (size_t j = 0; j <= b_length; j++)
        above[j] = (unsigned char) j;
    for (size_t i = 1; i <= a_length; i++) {
        unsigned char *oldest = before;
        char own = fold(a[i - 1]);

        row[0] = (unsigned char) i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned least = smaller(above[j - 1] + (own != fold(b[j - 1])),
                smaller(above[j], row[j - 1]) + 1U);

            if (i > 1 && j > 1 && own == fold(b[j - 2]) &&
                fold(a[i - 2]) == fold(b[j - 1]))
                least = smaller(least, before[j - 2] + 1U);
            row[j] = (unsigned char) least;
        }
        before = above;
        above = row;
        row = oldest;
    }
    return above[b_length];
}

const char *
setting_nearest(const char *word, size_t length,
    const na_plugin_setting *const *const *lists, size_t count)
{
    const char *found = NULL;
    unsigned least = UINT_MAX;

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; lists[i] && lists[i][j]; j++) {
            const char *key = lists[i][j]->key;
            const char *after = strchr(key, '.') + 1;
            unsigned far =
                smaller(setting_distance(word, length, key, strlen(key)),
                    setting_distance(word, length, after, strlen(after)));

            if (far < least) {
                least = far;
                found = key;
            }
        }
    }
    return found;
}

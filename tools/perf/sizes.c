/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses numbers and sizes. */
#include "perf/sizes.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "perf/plan.h"

bool
perf_number_read(const char *text, bool suffix, uint64_t least, uint64_t most,
    uint64_t *value_p)
{
    static const char suffixes[] = "KMG";
    unsigned long long value;
    const char *mark;
    char *end;

    if (!isdigit((unsigned char) text[0]))
        return false;
    errno = 0;
    value = strtoull(text, &end, 10);
    mark = *end != 0 && suffix ? strchr(suffixes, toupper((unsigned char) *end))
                               : NULL;
    if (mark) {
        unsigned int shift = 10 * (unsigned int) (mark - suffixes + 1);

        if (value > ULLONG_MAX >> shift)
            return false;
        value <<= shift;
        end++;
    }
    if (errno != 0 || *end != 0 || value < least || value > most)
        return false;
    *value_p = value;
    return true;
}

/* Reads one element of the list, a number or a range. */
static bool
read_element(char *text, uint64_t *sizes, uint32_t max, uint32_t *count)
{
    char *colon = strchr(text, ':');
    uint64_t first, last;

    if (colon)
        *colon = 0;
    if (!perf_number_read(text, true, 0, PERF_SIZE_MAX, &first))
        return false;
    last = first;
    if (colon &&
        (!perf_number_read(colon + 1, true, first, PERF_SIZE_MAX, &last) ||
            first == 0))
        return false;
    for (; first <= last; first *= 2) {
        if (*count == max)
            return false;
        sizes[(*count)++] = first;
        if (first == 0)
            break;
    }
    return true;
}

bool
perf_sizes_read(
    const char *text, uint64_t *sizes, uint32_t max, uint32_t *count_p)
{
    char *copy = strdup(text), *rest = copy, *element;
    bool good = copy != NULL;

    *count_p = 0;
    while (good && (element = strsep(&rest, ",")) != NULL)
        good = read_element(element, sizes, max, count_p);
    free(copy);
    return good && *count_p > 0;
}

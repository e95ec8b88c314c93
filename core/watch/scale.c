/* SPDX-License-Identifier: BSD-3-Clause */
/* How many calls a counted one stands for. */
#include "watch/scale.h"

#include <stddef.h>
#include <string.h>

#define SOURCES 1024U

struct scale {
    struct {
        const void *source;
        uint32_t number; /* of its latest counted call */
    } sources[SOURCES];
    uint64_t counted;  /* calls */
    uint64_t numbered; /* those with a source that was known */
    uint64_t real;     /* calls that these stand for */
};

static struct scale scales[WATCH_SIDES];

void
watch_scale_reset(void)
{
    memset(scales, 0, sizeof scales);
}

/* Returns the index of a source, or of the place for it; SOURCES: none is left
 * near where it should be. */
static size_t
find(const struct scale *scale, const void *source)
{
    size_t at = (size_t) ((uintptr_t) source >> 6) * 2654435761U;

    for (size_t i = 0; i < 16; i++) {
        const void *there = scale->sources[(at + i) % SOURCES].source;

        if (there == source || !there)
            return (at + i) % SOURCES;
    }
    return SOURCES;
}

void
watch_scale_add(enum watch_side side, const void *source, uint32_t number)
{
    struct scale *scale = &scales[side];
    size_t at = source ? find(scale, source) : SOURCES;
    uint32_t more;

    scale->counted++;
    if (at == SOURCES)
        return;
    more = number - scale->sources[at].number;
    /* A new source, one at the same place, or one without numbers. */
    if (scale->sources[at].source && more > 0 && more < INT32_MAX) {
        scale->numbered++;
        scale->real += more;
    }
    scale->sources[at].source = source;
    scale->sources[at].number = number;
}

double
watch_scale_end(enum watch_side side, double time_factor)
{
    struct scale *scale = &scales[side];
    double counted = (double) scale->counted;
    double by_time = counted - (double) scale->numbered;
    double real = (double) scale->real;

    scale->counted = scale->numbered = scale->real = 0;
    if (counted == 0 || real == 0)
        return time_factor;
    /* Few calls without a number: sources seen first. */
    if (by_time * 4 < counted)
        return real / (counted - by_time);
    return (real + by_time * time_factor) / counted;
}

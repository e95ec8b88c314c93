/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying data between descriptors of this process. */
#include "bulk/bulk.h"

#include <stdlib.h>
#include <string.h>

/* A position in the memory of a descriptor. */
struct position {
    const na_plugin_segment *segment;
    hg_size_t offset; /* within it */
};

static struct position
position_at(const struct hg_bulk *bulk, hg_size_t offset)
{
    return (struct position){.segment = bulk->segments, .offset = offset};
}

/* Returns the memory at a position with at least one byte left. *size_p is
 * reduced to what is contiguous, and the position advances past it. */
static char *
take(struct position *position, hg_size_t *size_p)
{
    hg_size_t length;
    char *memory;

    while (position->offset >= position->segment->length) {
        position->offset -= position->segment->length;
        position->segment++;
    }
    length = position->segment->length - position->offset;
    if (length < *size_p)
        *size_p = length;
    memory = (char *) position->segment->base + position->offset;
    position->offset += *size_p;
    return memory;
}

/* Copies from a position to a buffer. */
static void
gather(char *buffer, struct position from, hg_size_t size)
{
    for (hg_size_t length = size; size > 0; length = size) {
        const char *source = take(&from, &length);

        memcpy(buffer, source, length);
        buffer += length;
        size -= length;
    }
}

static void
scatter(struct position to, const char *buffer, hg_size_t size)
{
    for (hg_size_t length = size; size > 0; length = size) {
        char *sink = take(&to, &length);

        memcpy(sink, buffer, length);
        buffer += length;
        size -= length;
    }
}

/* Gets the lowest and highest address of a range. */
static void
bounds(struct position position, hg_size_t size, uintptr_t *low_p,
    uintptr_t *high_p)
{
    uintptr_t low = UINTPTR_MAX, high = 0;

    for (hg_size_t length = size; size > 0; length = size) {
        uintptr_t at = (uintptr_t) take(&position, &length);

        low = at < low ? at : low;
        high = at + length > high ? at + length : high;
        size -= length;
    }
    *low_p = low;
    *high_p = high;
}

static bool
may_overlap(struct position from, struct position to, hg_size_t size)
{
    uintptr_t from_low, from_high, to_low, to_high;

    bounds(from, size, &from_low, &from_high);
    bounds(to, size, &to_low, &to_high);
    return from_low < to_high && to_low < from_high;
}

/* Copies through a buffer: copying in pieces could overwrite bytes that are
 * still to be read. */
static hg_return_t
copy_overlapping(struct position from, struct position to, hg_size_t size)
{
    char *buffer = malloc(size);

    if (!buffer)
        return HG_NOMEM;
    gather(buffer, from, size);
    scatter(to, buffer, size);
    free(buffer);
    return HG_SUCCESS;
}

static void
copy_pieces(struct position from, struct position to, hg_size_t size)
{
    for (hg_size_t length = size; size > 0; length = size) {
        struct position ahead = to;
        const char *source;
        char *sink;

        (void) take(&ahead, &length);
        source = take(&from, &length);
        sink = take(&to, &length);
        memmove(sink, source, length);
        size -= length;
    }
}

hg_return_t
bulk_copy(const struct hg_bulk *from, hg_size_t from_offset,
    const struct hg_bulk *to, hg_size_t to_offset, hg_size_t size)
{
    struct position sink = position_at(to, to_offset), source;

    if (size == 0)
        return HG_SUCCESS;
    if (from->remote) {
        scatter(sink, (const char *) from->data + from_offset, size);
        return HG_SUCCESS;
    }
    source = position_at(from, from_offset);
    if ((from->segment_count > 1 || to->segment_count > 1) &&
        may_overlap(source, sink, size))
        return copy_overlapping(source, sink, size);
    copy_pieces(source, sink, size);
    return HG_SUCCESS;
}

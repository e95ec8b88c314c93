/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations: segments that make up one range, here or at a peer; checks of
 * range and rights, copies, and the codec. Own ones stand in a tp_table by their
 * id. What is read by peers has to be checked under the lock of that table. */
#ifndef TP_MEMORY_H
#define TP_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/table.h"
#include "na_plugin.h"

/* Lies in the plugin's registration. */
struct tp_mem {
    struct tp_keyed
        keyed;       /* key: its id, random, since peers name it by that */
    uint64_t owner;  /* number of the class that registered it */
    uint64_t total;  /* bytes of all segments */
    uint32_t access; /* NA_PLUGIN_MEM_READ, _WRITE */
    uint32_t count;  /* of segments */
};

/* Bytes of all segments; 0: one of them is empty, or they wrap around. */
uint64_t tp_segments_total(const na_plugin_segment *segments, uint64_t count);

/* Checks what is to be registered, host memory alone unless devices, and fills in
 * total, access and count. INVALID_ARG, OPNOTSUPPORTED; logged. */
int32_t tp_mem_check(const na_plugin_host *host, const na_plugin_mem_info *info,
    uint64_t most, bool devices, struct tp_mem *mem);

/* Allocates a registration, zeroed but for its struct tp_mem, with which it begins,
 * and its segments, which lie at front; behind these there is room for each of
 * them. To be freed by free(). As tp_mem_check, and NOMEM. */
int32_t tp_mem_make(const na_plugin_host *host, const na_plugin_mem_info *info,
    uint64_t most, bool devices, size_t front, size_t each, void **made_p);

/* Copies what a get reads from a peer's memory that is mapped here, the last bytes
 * last: the core recognizes by a validity cookie there whether all of it was read
 * before the peer deregistered it. memcpy may begin at either end. */
static inline void
tp_mem_copy(void *here, const void *there, uint64_t length)
{
    const uint64_t last = sizeof(uint64_t);
    uint64_t first = length > last ? length - last : 0;

    memcpy(here, there, first);
    atomic_thread_fence(memory_order_acquire); /* order of the reads */
    memcpy((char *) here + first, (const char *) there + first, length - first);
}

/* Whether a range may be used so; right: NA_PLUGIN_MEM_READ or _WRITE.
 * INVALID_ARG, PERMISSION. */
static inline int32_t
tp_mem_permits(
    const struct tp_mem *mem, uint64_t offset, uint64_t length, uint32_t right)
{
    if (offset > mem->total || length > mem->total - offset)
        return NA_PLUGIN_E_INVALID_ARG;
    return (mem->access & right) != 0 ? NA_PLUGIN_OK : NA_PLUGIN_E_PERMISSION;
}

/* The same, logged at level ERROR; which: "own", "peer's". */
int32_t tp_mem_check_range(const na_plugin_host *host, const struct tp_mem *mem,
    uint64_t offset, uint64_t length, uint32_t right, const char *which);

/* Copies between a range that is known to be there and a buffer. */
void tp_segments_read(const na_plugin_segment *segments, uint64_t offset,
    void *buffer, uint64_t length);
void tp_segments_write(const na_plugin_segment *segments, uint64_t offset,
    const void *buffer, uint64_t length);

/* A transfer between two ranges, in parts that lie in one segment at either end.
 * Begun with near, far, the offsets and left filled in. */
struct tp_walk {
    const na_plugin_segment *near; /* the current segment here */
    const na_plugin_segment *far;
    uint64_t near_offset; /* in it */
    uint64_t far_offset;
    uint64_t left;
};

struct tp_part {
    char *here;
    uint64_t there;
    uint64_t length;
    const na_plugin_segment *far; /* in which there is */
};

/* The next part; false: there is none. */
bool tp_walk_next(struct tp_walk *walk, struct tp_part *part_p);

/* Little-endian numbers; what follows them. */
unsigned char *tp_pack(unsigned char *bytes, uint64_t value, unsigned width);
uint64_t tp_unpack(const unsigned char *bytes, unsigned width);

/* Bytes for peers: version (1), access (1), count (2), bytes of extra (4), owner
 * (8), id (8), then base and length (8 each) of each segment, then extra, which
 * is the plugin's own. */
int32_t tp_mem_serialize(uint8_t version, const struct tp_mem *mem,
    const na_plugin_segment *segments, const void *extra, uint32_t extra_length,
    void *buffer, uint64_t *size_p);

/* Back from bytes of a peer. First the front, so that room can be made;
 * then the segments, into that room, with total. extra_p points into the bytes.
 * PROTOCOL_ERROR: another version; INVALID_ARG; logged at level WARNING,
 * thinned. */
int32_t tp_mem_deserialize_front(const na_plugin_host *host, uint8_t version,
    const void *buffer, uint64_t length, uint64_t most, struct tp_mem *mem,
    const unsigned char **extra_p, uint32_t *extra_length_p);
int32_t tp_mem_deserialize_segments(const na_plugin_host *host,
    const void *buffer, struct tp_mem *mem, na_plugin_segment *segments);

/* Both, into memory that is allocated as by tp_mem_make. Errors of the three. */
int32_t tp_mem_read(const na_plugin_host *host, uint8_t version,
    const void *buffer, uint64_t length, uint64_t most, size_t front,
    size_t each, void **made_p, const unsigned char **extra_p,
    uint32_t *extra_length_p);

#endif /* TP_MEMORY_H */

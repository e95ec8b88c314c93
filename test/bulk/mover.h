/* SPDX-License-Identifier: BSD-3-Clause */
/* RPCs that move bulk data, and memory in segments. */
#ifndef MOVER_H
#define MOVER_H

#include "mercury_macros.h"
#include "session.h"

/* What the target does with the origin's memory. */
MERCURY_GEN_PROC(move_in_t,
    ((hg_bulk_t) (bulk))((uint8_t) (op))((uint8_t) (how))((uint32_t) (seed))(
        (uint64_t) (origin_offset))((uint64_t) (local_offset))(
        (uint64_t) (size))((uint64_t) (local_size)))
/* start: result of HG_Bulk_transfer; end: result in its callback. */
MERCURY_GEN_PROC(move_out_t,
    ((int32_t) (start))((int32_t) (end))((uint64_t) (hash))((uint64_t) (moved)))
MERCURY_GEN_PROC(expose_out_t, ((hg_bulk_t) (bulk)))

/* flags of move_in_t.how */
enum move_how {
    MOVE_BOUND = 1,       /* use the address that the descriptor carries */
    MOVE_CANCEL = 2,      /* cancel right after the start */
    MOVE_CANCEL_LATE = 4, /* and again after the end */
    MOVE_READ_ONLY = 8,   /* the target's descriptor */
    MOVE_WRITE_ONLY = 16,
};

enum mover_rpc { MOVER_MOVE, MOVER_EXPOSE, MOVER_RPCS };

/* For session_setup.open and .stopping. */
void mover_open(hg_class_t *hg_class);
void mover_stopping(void);
hg_id_t mover_id(enum mover_rpc rpc);

/* Bytes that RPC_EXPOSE exposes: the pattern of seed 7. */
#define MOVER_EXPOSED ((size_t) 8 << 20)

/* Memory in segments, some of them empty, with sizes derived from a seed. */
struct pieces {
    uint32_t count;
    void **bases;
    hg_size_t *sizes;
    /* one allocation with all segments in order, and gaps between them */
    char *memory;
    size_t memory_size;
    size_t size; /* total size of the segments */
};
void pieces_make(struct pieces *pieces, size_t size, uint32_t seed);
void pieces_free(struct pieces *pieces);

/* Byte `at` of the pattern of a seed. */
unsigned char pattern_at(uint32_t seed, size_t at);

/* Fill all segments with a pattern; check that a range of them has the pattern
 * from its byte `from` on; hash a range. */
void pieces_fill(struct pieces *pieces, uint32_t seed);
bool pieces_match(const struct pieces *pieces, size_t offset, size_t size,
    uint32_t seed, size_t from);
uint64_t pieces_hash(const struct pieces *pieces, size_t offset, size_t size);

/* Calls the target and waits for its response. */
move_out_t mover_move(struct session *session, const move_in_t *in);

#endif /* MOVER_H */

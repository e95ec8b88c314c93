/* SPDX-License-Identifier: BSD-3-Clause */
/* RPCs that move bulk data, and memory cut into pieces to move. */
#ifndef MOVER_H
#define MOVER_H

#include "mercury_macros.h"
#include "session.h"

/* What the target is asked to do with the origin's memory. */
MERCURY_GEN_PROC(move_in_t,
    ((hg_bulk_t) (bulk))((uint8_t) (op))((uint8_t) (how))((uint32_t) (seed))(
        (uint64_t) (origin_offset))((uint64_t) (local_offset))(
        (uint64_t) (size))((uint64_t) (local_size)))
/* start: what HG_Bulk_transfer said; end: what its callback was told. */
MERCURY_GEN_PROC(move_out_t,
    ((int32_t) (start))((int32_t) (end))((uint64_t) (hash))((uint64_t) (moved)))
MERCURY_GEN_PROC(expose_out_t, ((hg_bulk_t) (bulk)))

/* move_in_t.how, added up */
enum move_how {
    MOVE_BOUND = 1,       /* by the address that the descriptor carries */
    MOVE_CANCEL = 2,      /* cancel as soon as it has started */
    MOVE_CANCEL_LATE = 4, /* and again when it has ended */
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

/* Memory in pieces, some of them empty, cut as seed says. */
struct pieces {
    uint32_t count;
    void **bases;
    hg_size_t *sizes;
    char *memory; /* all of it, in the pieces' order, with gaps between */
    size_t memory_size;
    size_t size; /* of all pieces */
};
void pieces_make(struct pieces *pieces, size_t size, uint32_t seed);
void pieces_free(struct pieces *pieces);

/* Byte `at` of the pattern of a seed. */
unsigned char pattern_at(uint32_t seed, size_t at);

/* Fills pieces with a pattern; tells whether bytes of theirs, counted over all,
 * have it, beginning at `from` of it; hashes bytes of theirs. */
void pieces_fill(struct pieces *pieces, uint32_t seed);
bool pieces_match(const struct pieces *pieces, size_t offset, size_t size,
    uint32_t seed, size_t from);
uint64_t pieces_hash(const struct pieces *pieces, size_t offset, size_t size);

/* Asks the target and waits. */
move_out_t mover_move(struct session *session, const move_in_t *in);

#endif /* MOVER_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranges: large puts and gets by two processors. The initiator copies pieces from
 * the front, and the owner of the remote memory, if it polls meanwhile, pieces
 * from the back, both by the kernel. assist.c is the initiator's end,
 * assist_owner.c the owner's.
 *
 * The two meet in the claim word of the initiator's ring (sm_ring_control.claim):
 * a piece belongs to the side that has moved its end of the range past it. The
 * owner accesses the initiator's memory, as a network adapter would. So the
 * operation does not end, not even cancelled, while a piece that the owner has
 * claimed may still be copied: until the owner has said that it is, or has declined
 * or hung up, which it does after its last access, or its process has ended. There
 * is no limit to that time.
 *
 * That a piece is copied the owner says, for a get, by a mark that the kernel
 * copies behind the piece; for a put, by a bit (sm_ring_control.copied).
 *
 * The last byte of a get may thus be read before the first one. The initiator
 * therefore checks at the end that the memory is still registered, and fails the get
 * if not.
 */
#ifndef SM_RANGE_H
#define SM_RANGE_H

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SM_RANGE_PIECE (256U << 10) /* bytes, if there are two or more */
#define SM_RANGE_ROUND 4096U /* half of a shorter range is a multiple of this */
#define SM_RANGE_PIECES 64U  /* of an operation, or of a part of one */
#define SM_RANGE_MOST ((uint64_t) SM_RANGE_PIECES * SM_RANGE_PIECE)

struct sm_conn;
struct sm_op;

/* What the owner is asked, behind the record (SM_RMA_ASSIST, SM_RMA_ASSIST_PUT),
 * in which number is the range's, and mem, offset and length are its place at the
 * owner. Both are addresses at the initiator. */
struct sm_range_place {
    uint64_t bytes; /* of the range's first byte */
    uint64_t marks; /* of a word for each piece; of a put 0 */
};

static_assert(sizeof(struct sm_range_place) == 16, "layout");
static_assert(SM_RANGE_PIECES <= 64, "a bit for each");

/* At the initiator: a range of an operation of a context. Guarded by ctx->rma_lock; what
 * changes while it is open, from front to fd, by conn->lock; op is also read under
 * ctx->lock. */
struct sm_range {
    struct sm_op *op; /* NULL: there is none */
    struct sm_conn *conn;
    uint32_t number;
    uint32_t bytes;
    uint32_t pieces;
    bool put;
    uint64_t copied;  /* of a put: the bits, when last looked at */
    uint32_t front;   /* pieces taken by the initiator, */
    uint32_t back;    /* and the first one taken by the owner */
    bool open;        /* the owner may take more */
    bool declined;    /* the owner copies no more pieces */
    bool lost;        /* the connection has ended, and left here: */
    pid_t pid;        /* of the peer */
    int pidfd;        /* the same, or -1, */
    int fd;           /* and its socket, half-closed, or -1 */
    bool ending;      /* the operation ends when no piece can be copied: */
    int32_t status;   /* with this status */
    bool refused;     /* the context is being destroyed: begin no other */
    bool warned;      /* the log says that it takes long */
    bool late;        /* a poll has waited for the owner: later ones do not */
    bool waits;       /* the next step is another operation's */
    uint64_t stop_ns; /* since when it waits for the owner, or 0 */
    alignas(64) _Atomic uint64_t marks[SM_RANGE_PIECES]; /* sm_range_mark */
};

/* At the owner: a range of its memory that a peer accesses. [progress] */
struct sm_range_task {
    bool present;
    bool put;
    bool busy;      /* a thread copies a piece */
    uint32_t taken; /* pieces */
    uint32_t number;
    uint32_t bytes;
    uint64_t mem; /* id of the registration */
    uint64_t offset;
    struct sm_range_place place;
};

/* The claim word: number of the range (upper half), pieces taken from the front,
 * pieces not taken from the back (16 bits each). 0: no range is open. */
static inline uint64_t
sm_range_claim(uint32_t number, uint32_t front, uint32_t back)
{
    return (uint64_t) number << 32 | (uint64_t) front << 16 | back;
}

static inline uint32_t
sm_range_number(uint64_t claim)
{
    return (uint32_t) (claim >> 32);
}

static inline uint32_t
sm_range_front(uint64_t claim)
{
    return claim >> 16 & 0xFFFF;
}

static inline uint32_t
sm_range_back(uint64_t claim)
{
    return claim & 0xFFFF;
}

/* Bytes of a piece, but for the last one, of a range of so many bytes, at least 1. */
static inline uint32_t
sm_range_piece(uint32_t bytes)
{
    return bytes >= 2 * SM_RANGE_PIECE
               ? SM_RANGE_PIECE
               : (bytes + 2 * SM_RANGE_ROUND - 1) / (2 * SM_RANGE_ROUND) *
                     SM_RANGE_ROUND;
}

static inline uint32_t
sm_range_count(uint32_t bytes)
{
    return (bytes + sm_range_piece(bytes) - 1) / sm_range_piece(bytes);
}

/* Bytes of so many pieces from number first on. */
static inline uint32_t
sm_range_length(uint32_t bytes, uint32_t first, uint32_t count)
{
    uint32_t at = first * sm_range_piece(bytes);
    uint32_t length = count * sm_range_piece(bytes);

    return bytes - at < length ? bytes - at : length;
}

/* What the kernel writes into the word of a piece once it has copied that. */
static inline uint64_t
sm_range_mark(uint32_t number, uint32_t piece)
{
    return (uint64_t) number << 32 | (piece + 1);
}

#endif /* SM_RANGE_H */

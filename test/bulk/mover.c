/* SPDX-License-Identifier: BSD-3-Clause */
/* RPCs that move bulk data, and memory in segments. */
#include "mover.h"

#include <stdlib.h>
#include <string.h>

#define GAP 16U /* guard bytes around each segment */

#define CHUNK 4096U

/* For loops over a private chunk, which sanitizers would slow down most. Shared
 * memory is copied and compared by memcpy and memcmp, one chunk at a time,
 * which sanitizers check. */
#define UNSANITIZED __attribute__((no_sanitize("thread", "address")))

static hg_id_t ids[MOVER_RPCS];

static uint32_t
next_random(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

void
pieces_make(struct pieces *pieces, size_t size, uint32_t seed)
{
    uint32_t state = seed, filled;
    size_t left = size, at = GAP;

    pieces->count = 1 + next_random(&state) % 24;
    pieces->size = size;
    pieces->memory_size = size + (pieces->count + 1) * GAP;
    pieces->memory = calloc(1, pieces->memory_size);
    pieces->bases = calloc(pieces->count, sizeof *pieces->bases);
    pieces->sizes = calloc(pieces->count, sizeof *pieces->sizes);
    ck_assert(pieces->memory && pieces->bases && pieces->sizes);
    for (uint32_t i = 0; i < pieces->count; i++) {
        filled = next_random(&state) % 4;
        pieces->sizes[i] =
            i + 1 == pieces->count ? left
            : filled == 0          ? 0
                          : next_random(&state) * (uint64_t) 7919 % (left + 1);
        left -= pieces->sizes[i];
        pieces->bases[i] = pieces->memory + at;
        at += pieces->sizes[i] + GAP;
    }
}

void
pieces_free(struct pieces *pieces)
{
    free(pieces->memory);
    free(pieces->bases);
    free(pieces->sizes);
}

UNSANITIZED unsigned char
pattern_at(uint32_t seed, size_t at)
{
    uint64_t x = (at + 1) * 0x9e3779b97f4a7c15ULL + seed * 2654435761U;

    return (unsigned char) (x >> 37);
}

UNSANITIZED static void
pattern_chunk(
    unsigned char chunk[CHUNK], size_t size, uint32_t seed, size_t from)
{
    for (size_t i = 0; i < size; i++)
        chunk[i] = pattern_at(seed, from + i);
}

UNSANITIZED static uint64_t
hash_chunk(const unsigned char chunk[CHUNK], size_t size, uint64_t hash)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ chunk[i]) * 1099511628211ULL;
    return hash;
}

static size_t
at_most_a_chunk(size_t size)
{
    return size < CHUNK ? size : CHUNK;
}

/* Writes the pattern from its byte `at` on. */
static void
pattern_write(unsigned char *to, size_t size, uint32_t seed, size_t from)
{
    unsigned char chunk[CHUNK];
    size_t part;

    for (size_t i = 0; i < size; i += part) {
        part = at_most_a_chunk(size - i);
        pattern_chunk(chunk, part, seed, from + i);
        memcpy(to + i, chunk, part);
    }
}

/* Iterates over a range of segments, one contiguous part at a time. */
struct walk {
    const struct pieces *pieces;
    uint32_t piece;
    size_t in_piece;
    size_t left;
};

static struct walk
walk_begin(const struct pieces *pieces, size_t offset, size_t size)
{
    struct walk walk = {.pieces = pieces, .in_piece = offset, .left = size};

    while (walk.piece < pieces->count &&
           walk.in_piece >= pieces->sizes[walk.piece])
        walk.in_piece -= pieces->sizes[walk.piece++];
    return walk;
}

static unsigned char *
walk_next(struct walk *walk, size_t *size_p)
{
    unsigned char *run;

    if (walk->left == 0)
        return NULL;
    while (walk->in_piece == walk->pieces->sizes[walk->piece]) {
        walk->piece++;
        walk->in_piece = 0;
    }
    run = (unsigned char *) walk->pieces->bases[walk->piece] + walk->in_piece;
    *size_p = walk->pieces->sizes[walk->piece] - walk->in_piece;
    if (*size_p > walk->left)
        *size_p = walk->left;
    walk->in_piece += *size_p;
    walk->left -= *size_p;
    return run;
}

void
pieces_fill(struct pieces *pieces, uint32_t seed)
{
    struct walk walk = walk_begin(pieces, 0, pieces->size);
    unsigned char *run;
    size_t size, at = 0;

    for (; (run = walk_next(&walk, &size)) != NULL; at += size)
        pattern_write(run, size, seed, at);
}

bool
pieces_match(const struct pieces *pieces, size_t offset, size_t size,
    uint32_t seed, size_t from)
{
    struct walk walk = walk_begin(pieces, offset, size);
    const unsigned char *run;
    unsigned char chunk[CHUNK];
    size_t length, part;

    while ((run = walk_next(&walk, &length)) != NULL)
        for (size_t i = 0; i < length; i += part, from += part) {
            part = at_most_a_chunk(length - i);
            pattern_chunk(chunk, part, seed, from);
            if (memcmp(run + i, chunk, part) != 0)
                return false;
        }
    return true;
}

uint64_t
pieces_hash(const struct pieces *pieces, size_t offset, size_t size)
{
    struct walk walk = walk_begin(pieces, offset, size);
    uint64_t hash = 1469598103934665603ULL; /* FNV-1a */
    const unsigned char *run;
    unsigned char chunk[CHUNK];
    size_t length, part;

    while ((run = walk_next(&walk, &length)) != NULL)
        for (size_t i = 0; i < length; i += part) {
            part = at_most_a_chunk(length - i);
            memcpy(chunk, run + i, part);
            hash = hash_chunk(chunk, part, hash);
        }
    return hash;
}

/* A transfer at the target, from request to response. */
struct job {
    hg_handle_t handle;
    move_in_t in;
    move_out_t out;
    struct pieces pieces;
    hg_op_id_t id;
    uint32_t calls;
};

static void
job_answer(struct job *job)
{
    TARGET_ASSERT(HG_Respond(job->handle, NULL, NULL, &job->out) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_input(job->handle, &job->in) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(job->handle) == HG_SUCCESS);
    pieces_free(&job->pieces);
    free(job);
}

static hg_return_t
moved(const struct hg_cb_info *info)
{
    struct job *job = info->arg;

    TARGET_ASSERT(info->type == HG_CB_BULK);
    TARGET_ASSERT(info->info.bulk.op == (hg_bulk_op_t) job->in.op);
    TARGET_ASSERT(++job->calls == 1);
    if (job->in.how & MOVE_CANCEL_LATE)
        TARGET_ASSERT(HG_Bulk_cancel(job->id) == HG_SUCCESS);
    job->out.end = (int32_t) info->ret;
    job->out.moved = info->info.bulk.size;
    if (info->ret == HG_SUCCESS && job->in.op == HG_BULK_PULL)
        job->out.hash =
            pieces_hash(&job->pieces, job->in.local_offset, job->in.size);
    job_answer(job);
    return HG_SUCCESS;
}

static uint8_t
local_flags(uint8_t how)
{
    if (how & MOVE_READ_ONLY)
        return HG_BULK_READ_ONLY;
    return how & MOVE_WRITE_ONLY ? HG_BULK_WRITE_ONLY : HG_BULK_READWRITE;
}

static hg_return_t
job_start(struct job *job, hg_bulk_t local)
{
    const struct hg_info *info = HG_Get_info(job->handle);

    if (job->in.how & MOVE_BOUND)
        return HG_Bulk_bind_transfer(info->context, moved, job,
            (hg_bulk_op_t) job->in.op, job->in.bulk, job->in.origin_offset,
            local, job->in.local_offset, job->in.size, &job->id);
    return HG_Bulk_transfer(info->context, moved, job,
        (hg_bulk_op_t) job->in.op, info->addr, job->in.bulk,
        job->in.origin_offset, local, job->in.local_offset, job->in.size,
        &job->id);
}

static hg_return_t
on_move(hg_handle_t handle)
{
    struct job *job = calloc(1, sizeof *job);
    hg_bulk_t local = HG_BULK_NULL;
    hg_return_t ret;

    TARGET_ASSERT(job != NULL);
    job->handle = handle;
    ret = HG_Get_input(handle, &job->in);
    TARGET_ASSERT(ret == HG_SUCCESS);
    pieces_make(&job->pieces, job->in.local_size, job->in.seed);
    pieces_fill(&job->pieces, job->in.seed);
    ret = HG_Bulk_create(HG_Get_info(handle)->hg_class, job->pieces.count,
        job->pieces.bases, job->pieces.sizes, local_flags(job->in.how), &local);
    TARGET_ASSERT(ret == HG_SUCCESS);
    ret = job_start(job, local);
    /* The transfer holds a reference from here on. */
    TARGET_ASSERT(HG_Bulk_free(local) == HG_SUCCESS);
    if (ret != HG_SUCCESS) {
        job->out.start = (int32_t) ret;
        job_answer(job);
    } else if (job->in.how & MOVE_CANCEL) {
        TARGET_ASSERT(HG_Bulk_cancel(job->id) == HG_SUCCESS);
    }
    return HG_SUCCESS;
}

static struct {
    unsigned char *memory;
    hg_bulk_t bulk;
} exposed;

static hg_return_t
on_expose(hg_handle_t handle)
{
    hg_size_t size = MOVER_EXPOSED;
    void *base;
    expose_out_t out;

    if (!exposed.memory) {
        exposed.memory = malloc(size);
        TARGET_ASSERT(exposed.memory != NULL);
        pattern_write(exposed.memory, size, 7, 0);
        base = exposed.memory;
        TARGET_ASSERT(
            HG_Bulk_create(HG_Get_info(handle)->hg_class, 1, &base, &size,
                HG_BULK_READ_ONLY, &exposed.bulk) == HG_SUCCESS);
    }
    out.bulk = exposed.bulk;
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, &out) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

void
mover_open(hg_class_t *hg_class)
{
    ids[MOVER_MOVE] =
        MERCURY_REGISTER(hg_class, "move", move_in_t, move_out_t, on_move);
    ids[MOVER_EXPOSE] =
        MERCURY_REGISTER(hg_class, "expose", void, expose_out_t, on_expose);
}

void
mover_stopping(void)
{
    HG_Bulk_free(exposed.bulk);
    free(exposed.memory);
    exposed.bulk = HG_BULK_NULL;
    exposed.memory = NULL;
}

hg_id_t
mover_id(enum mover_rpc rpc)
{
    return ids[rpc];
}

move_out_t
mover_move(struct session *session, const move_in_t *in)
{
    hg_handle_t handle = session_handle(session, mover_id(MOVER_MOVE));
    move_in_t sent = *in;
    move_out_t out;

    ck_assert_int_eq(session_forward(session, handle, &sent), HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(HG_Free_output(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    return out;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the kit whose borders and times are guarded by page protection: who
 * touches it beyond its end, or when it must not, is caught in the act.
 */
#ifndef KIT_GUARD_H
#define KIT_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who may do what with a piece at the moment. */
enum kit_lock {
    KIT_OPEN,     /* everything */
    KIT_READABLE, /* reading */
    KIT_CLOSED    /* nothing */
};

struct kit_piece {
    unsigned char *memory; /* ends where a page without access begins */
    size_t length;
    unsigned char *mapping;
    size_t mapped; /* without that page */
    uint32_t slot; /* where kit_guard_explain finds it */
};

/* A piece of length bytes, zeroed, that begins at a multiple of align (a power
 * of two) and, if it can, of nothing larger; up to align - 1 bytes behind it
 * are canaries, so are those in front of it. Fails the case when short of
 * memory. */
void kit_piece_create(struct kit_piece *piece, size_t length, size_t align);
void kit_piece_destroy(struct kit_piece *piece);

/* Touching what lies beyond its end breaks that rule, from now on; 12 before. */
void kit_piece_bound(struct kit_piece *piece, uint32_t rule, const char *text);

/* Locks it; touching it against the lock breaks that rule, and text says what
 * was expected. text: constant. [any thread] */
void kit_piece_lock(struct kit_piece *piece, enum kit_lock lock, uint32_t rule,
    const char *text);

/* Whether the canaries live. Readable it must be. */
bool kit_piece_intact(const struct kit_piece *piece);

#endif /* KIT_GUARD_H */

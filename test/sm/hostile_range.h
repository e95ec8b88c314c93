/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranges, the large puts and gets that both sides copy: their claim word, the
 * memory of the two sides, and a peer that owns the remote one. */
#ifndef HOSTILE_RANGE_H
#define HOSTILE_RANGE_H

#include "hostile_peer.h"

#define PIECE ((uint64_t) 256 << 10)
#define PIECES 16U /* more than a poll copies */
#define LENGTH (PIECES * PIECE)

/* LENGTH bytes each, of 0x77 and 0x11. Of a get, the first is its source, and the
 * second its destination; of a put, the other way round. */
extern unsigned char *range_source;
extern unsigned char *range_destination;

void allocate_range(void);

/* A word of a control page, such as CLAIM. */
_Atomic uint64_t *word_at(unsigned char *ring, uint32_t offset);

/* Contents of the claim word: number of the range, pieces taken from the front,
 * pieces not taken from the back. */
uint64_t claim(uint32_t number, uint32_t front, uint32_t back);

/* How many pieces of LENGTH bytes have this value. Fails if one is copied in
 * part. */
uint32_t count_pieces(const unsigned char *memory, unsigned char value);

/* A peer that owns range_source, and what the class has of it. */
struct range_owner {
    struct hostile_peer hostile; /* to be closed by the test */
    na_plugin_addr *peer;
    na_plugin_mem *local; /* range_destination */
    na_plugin_mem *remote;
};

/* Connects it to hostile_target. assists: flags of its hello, HELLO_ASSISTS and
 * HELLO_ASSISTS_PUTS. */
void open_range_owner(struct range_owner *owner, uint32_t assists);

/* Frees what the class has of it. */
void free_range_owner(struct range_owner *owner);

/* Submits a get by the class from range_source to range_destination, or a put the
 * other way, of more than is copied at once. The caller frees the operation. */
void *submit_range(const struct range_owner *owner, bool put, uint64_t offset,
    uint64_t length);

#endif /* HOSTILE_RANGE_H */

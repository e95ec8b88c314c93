/* SPDX-License-Identifier: BSD-3-Clause */
/* --resume of a file that was interrupted: chunks that the partial file has are
 * verified by their checksums, the others are transferred. */
#ifndef COPY_RESUME_H
#define COPY_RESUME_H

#include "copy/pipe.h"

/* Whether a file of `size` bytes is kept if it is interrupted. */
bool copy_resume_wanted(const struct copy_client *client, uint64_t size);

/* Sets slot->offset and slot->size to the next chunk. Returns whether it is to
 * be verified; otherwise it is to be transferred. At least one must be left
 * (copy_resume_left). */
bool copy_resume_next(struct copy_item *item, struct copy_slot *slot);

/* Whether a chunk is left to verify or to transfer. */
bool copy_resume_left(const struct copy_item *item);

/* The move step of a chunk to verify. */
enum copy_step copy_resume_move(struct copy_item *item, struct copy_slot *slot);

#endif /* COPY_RESUME_H */

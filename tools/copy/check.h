/* SPDX-License-Identifier: BSD-3-Clause */
/* Is a file at the target what is to be copied there? Both sides hash their own
 * chunk by chunk, and nothing is moved (--resume). */
#ifndef COPY_CHECK_H
#define COPY_CHECK_H

#include "copy/pipe.h"

/* The file at the server was opened as `id`, and the one here as item->fd:
 * begins to compare them, or finds them different at once. */
void copy_check_begin(
    struct copy_item *item, uint64_t id, uint64_t here, uint64_t there);

/* In place of move and finish, for an item that is checked. In the end it is
 * retired when the two are equal, or put back to be copied. */
enum copy_step copy_check_move(struct copy_item *item, struct copy_slot *slot);
enum copy_step copy_check_finish(
    struct copy_item *item, struct copy_slot *slot);

#endif /* COPY_CHECK_H */

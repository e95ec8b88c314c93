/* SPDX-License-Identifier: BSD-3-Clause */
/* --resume: compares an existing file with the one to copy. Both sides hash
 * their own file chunk by chunk; no contents are transferred. */
#ifndef COPY_CHECK_H
#define COPY_CHECK_H

#include "copy/pipe.h"

/* Starts to compare the server's file, open as `id`, with item->fd. Files of
 * different sizes differ at once. here, there: their sizes in bytes. */
void copy_check_begin(
    struct copy_item *item, uint64_t id, uint64_t here, uint64_t there);

/* The move and finish steps of an item that is compared. The item is removed if
 * the files are equal, else queued again to be copied. */
enum copy_step copy_check_move(struct copy_item *item, struct copy_slot *slot);
enum copy_step copy_check_finish(
    struct copy_item *item, struct copy_slot *slot);

#endif /* COPY_CHECK_H */

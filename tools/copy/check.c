/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares a local file with the server's by size and checksum. */
#include "copy/check.h"
#include "copy/hash.h"
#include "copy/io.h"

void
copy_check_begin(
    struct copy_item *item, uint64_t id, uint64_t here, uint64_t there)
{
    item->id = id;
    item->state = COPY_ITEM_MOVING;
    item->check = here == there ? COPY_CHECK_RUNNING : COPY_CHECK_DIFFERS;
    item->size = here == there ? here : 0; /* 0: nothing to hash */
}

static void
on_hash(struct copy_slot *slot, void *arg)
{
    struct copy_item *item = arg;
    union copy_out out;

    item->in_flight--;
    copy_item_answer(item, slot, &out);
}

enum copy_step
copy_check_move(struct copy_item *item, struct copy_slot *slot)
{
    union copy_in in = {
        .chunk = {.id = item->id, .offset = slot->offset, .size = slot->size}};
    int error = copy_io_read(item->fd, slot->memory, slot->size, slot->offset);

    if (error != 0)
        return copy_item_error(item, error);
    copy_hash_add(&item->sum, slot->offset, slot->memory, slot->size);
    copy_slot_send(slot, COPY_HASH, &in, on_hash, item);
    return COPY_STEP_SENT;
}

static void
on_close(struct copy_slot *slot, void *arg)
{
    struct copy_item *item = arg;
    union copy_out out;

    if (copy_item_answer(item, slot, &out) == COPY_LOST)
        return;
    if (!item->failed) {
        if (item->check == COPY_CHECK_DIFFERS ||
            !copy_hash_equal(&item->sum, &out.close.sum)) {
            copy_pipe_requeue(item);
            return;
        }
        copy_report_present(&item->pipe->report, item->size);
    }
    copy_pipe_remove(item);
}

enum copy_step
copy_check_finish(struct copy_item *item, struct copy_slot *slot)
{
    union copy_in in = {.close = {.id = item->id}};

    copy_slot_send(slot, COPY_CLOSE, &in, on_close, item);
    return COPY_STEP_SENT;
}

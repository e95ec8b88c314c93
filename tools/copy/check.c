/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing a file here with one at the server, by size and checksum. */
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
    /* Nothing of it is worth hashing then. */
    item->size = here == there ? here : 0;
}

static void
on_hash(struct copy_slot *slot, void *arg)
{
    struct copy_item *item = arg;
    union copy_out out;
    enum copy_status status = copy_slot_answer(slot, &out);

    item->in_flight--;
    if (status != COPY_OK && status != COPY_LOST)
        copy_item_fail(item, copy_status_text(status));
}

enum copy_step
copy_check_move(struct copy_item *item, struct copy_slot *slot)
{
    union copy_in in = {
        .chunk = {.id = item->id, .offset = slot->offset, .size = slot->size}};
    int error = copy_io_read(item->fd, slot->memory, slot->size, slot->offset);

    if (error != 0) {
        copy_item_fail(item, copy_status_error_text(error));
        return COPY_STEP_DONE;
    }
    copy_hash_add(&item->sum, slot->offset, slot->memory, slot->size);
    copy_slot_send(slot, COPY_HASH, &in, on_hash, item);
    return COPY_STEP_SENT;
}

static void
on_close(struct copy_slot *slot, void *arg)
{
    struct copy_item *item = arg;
    union copy_out out;
    enum copy_status status = copy_slot_answer(slot, &out);

    if (status == COPY_LOST)
        return;
    if (status != COPY_OK)
        copy_item_fail(item, copy_status_text(status));
    if (!item->failed) {
        if (item->check == COPY_CHECK_DIFFERS ||
            !copy_hash_equal(&item->sum, &out.close.sum)) {
            copy_pipe_again(item);
            return;
        }
        copy_report_present(&item->pipe->report, item->size);
    }
    copy_pipe_retire(item);
}

enum copy_step
copy_check_finish(struct copy_item *item, struct copy_slot *slot)
{
    union copy_in in = {.close = {.id = item->id}};

    copy_slot_send(slot, COPY_CLOSE, &in, on_close, item);
    return COPY_STEP_SENT;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Verifies the chunks of a partial file. Those that were in flight when the copy
 * was interrupted are missing anywhere before its end, so each is compared. */
#include <errno.h>
#include <stdlib.h>

#include "copy/hash.h"
#include "copy/io.h"
#include "copy/resume.h"

bool
copy_resume_wanted(const struct copy_client *client, uint64_t size)
{
    return size > client->chunk_size;
}

bool
copy_resume_left(const struct copy_item *item)
{
    return item->redo_count > 0 || item->offset < item->size;
}

bool
copy_resume_next(struct copy_item *item, struct copy_slot *slot)
{
    uint32_t chunk_size = item->pipe->client->chunk_size;
    bool redo = item->redo_count > 0;
    uint64_t left;

    slot->offset = redo ? item->redo[--item->redo_count] : item->offset;
    left = item->size - slot->offset;
    slot->size = left < chunk_size ? (uint32_t) left : chunk_size;
    if (redo)
        return false;
    item->offset += slot->size;
    return item->check == COPY_CHECK_NONE && item->offset <= item->have;
}

/* Queues a chunk to be transferred. Returns 0 or ENOMEM. */
static int
add_redo(struct copy_item *item, uint64_t offset)
{
    if (item->redo_count == item->redo_room) {
        size_t room = item->redo_room == 0 ? 16 : 2 * item->redo_room;
        uint64_t *redo = realloc(item->redo, room * sizeof(*redo));

        if (redo == NULL)
            return ENOMEM;
        item->redo = redo;
        item->redo_room = room;
    }
    item->redo[item->redo_count++] = offset;
    return 0;
}

static void
on_verify(struct copy_slot *slot, void *arg)
{
    struct copy_item *item = arg;
    struct copy_report *report = &item->pipe->report;
    union copy_out out;
    enum copy_status status = copy_slot_answer(slot, &out);
    int error;

    item->in_flight--;
    if (status == COPY_OK) {
        copy_hash_join(&item->sum, &slot->sum);
        report->progress.moved += slot->size;
        report->resumed += slot->size;
    } else if (status == COPY_CHECKSUM) {
        error = add_redo(item, slot->offset);
        if (error != 0)
            copy_item_error(item, error);
    } else if (status != COPY_LOST) {
        copy_item_fail(item, copy_status_text(status));
    }
}

enum copy_step
copy_resume_move(struct copy_item *item, struct copy_slot *slot)
{
    union copy_in in = {.verify = {
                            .id = item->id,
                            .offset = slot->offset,
                            .size = slot->size,
                        }};
    /* get: the partial file; put: the source. */
    int fd = item->has_temp ? item->temp.fd : item->fd;
    int error = copy_io_read(fd, slot->memory, slot->size, slot->offset);

    if (error != 0)
        return copy_item_error(item, error);
    slot->sum = (copy_sum_t){0, 0};
    copy_hash_add(&slot->sum, slot->offset, slot->memory, slot->size);
    in.verify.sum = slot->sum;
    copy_slot_send(slot, COPY_VERIFY, &in, on_verify, item);
    return COPY_STEP_SENT;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Small files cost round trips, not bandwidth: a request for each of their steps
 * would take longer than all else. */
#include <errno.h>
#include <unistd.h>

#include "copy/batch.h"
#include "copy/hash.h"
#include "copy/io.h"
#include "copy/small.h"
#include "copy/source.h"

/* Bytes of a file that is sent in a batch, at most. With its path it fits in
 * the smallest chunk. */
#define SMALL_MAX (32u << 10)

/* The files of a request, until it is answered. */
struct request {
    struct copy_pipe *pipe;
    struct copy_item *items;
    struct copy_item **end;
    uint32_t count;
};

/* Ends an item according to its status. */
static void
end_item(struct copy_item *item, unsigned int status)
{
    struct copy_report *report = &item->pipe->report;

    if (status == COPY_OK) {
        report->progress.moved += item->size;
        copy_report_done(report, item->size);
    } else {
        copy_item_fail(item, copy_status_text(status));
    }
    copy_item_destroy(item);
}

static void
on_stored(struct copy_slot *slot, void *arg)
{
    struct request *request = arg;
    union copy_out out;
    enum copy_status status = copy_slot_answer(slot, &out);
    const copy_results_t *results = &out.store.results;

    /* A server that doesn't report the result of each file. */
    if (status == COPY_OK && results->count != request->count)
        status = COPY_OTHER;
    for (uint32_t i = 0; request->items != NULL; i++) {
        struct copy_item *item = request->items;
        request->items = item->next;
        if (status == COPY_LOST)
            copy_pipe_return(item);
        else
            end_item(item, status == COPY_OK ? results->status[i] : status);
    }
    free(request);
}

/* Whether the file is to be sent in this batch. */
static bool
belongs(const struct copy_item *item, const struct copy_batch *batch)
{
    return item->made == NULL && !item->is_link &&
           item->check == COPY_CHECK_NONE && item->size <= SMALL_MAX &&
           copy_batch_fits(batch, strlen(item->remote), item->size);
}

/* Reads an open file into the batch. */
static int
append(struct copy_item *item, struct copy_batch *batch)
{
    char contents[SMALL_MAX];
    copy_file_t file = {.mode = item->mode,
        .mtime = item->mtime,
        .size = (uint32_t) item->size};
    int error = copy_io_read(item->fd, contents, file.size, 0);

    if (error == 0 && copy_source_changed(item))
        error = ESTALE;
    if (error == 0)
        error = copy_proto_path(&file.path, item->remote);
    if (error != 0)
        return error;
    if (file.size > 0)
        copy_hash_add(&file.sum, 0, contents, file.size);
    copy_batch_append(batch, &file, contents);
    return 0;
}

static void
close_source(struct copy_item *item)
{
    if (item->fd >= 0)
        close(item->fd);
    item->fd = -1;
}

/* Moves the first queued item into the batch, or fails it. Returns false if it
 * doesn't belong there; it stays queued then. */
static bool
take_item(
    struct request *request, struct copy_item *item, struct copy_batch *batch)
{
    int error;

    if (!belongs(item, batch))
        return false;
    error = copy_source_open(item);
    if (error == 0 && !belongs(item, batch)) { /* it has grown */
        close_source(item);
        return false;
    }
    copy_pipe_take(request->pipe);
    if (error == 0)
        error = append(item, batch);
    close_source(item);
    if (error != 0) {
        copy_item_error(item, error);
        copy_item_destroy(item);
        return true;
    }
    *request->end = item;
    request->end = &item->next;
    request->count++;
    return true;
}

enum copy_step
copy_small_send(struct copy_pipe *pipe, struct copy_slot *slot, bool replace)
{
    struct copy_item *item = copy_pipe_next(pipe);
    struct request *request;
    struct copy_batch batch;
    union copy_in in;
    bool any = false;

    if (item == NULL || copy_batch_write(pipe->client->hg_class, slot->memory,
                            pipe->client->chunk_size, &batch) != HG_SUCCESS)
        return COPY_STEP_NONE;
    request = calloc(1, sizeof(*request));
    if (request != NULL) {
        request->pipe = pipe;
        request->end = &request->items;
    }
    while (
        request != NULL && item != NULL && take_item(request, item, &batch)) {
        any = true;
        item = copy_pipe_next(pipe);
    }
    in.store.replace = replace;
    in.store.count = batch.count;
    in.store.size = copy_batch_end(&batch);
    if (in.store.count == 0) {
        free(request);
        return any ? COPY_STEP_DONE : COPY_STEP_NONE;
    }
    copy_slot_send(slot, COPY_STORE, &in, on_stored, request);
    return COPY_STEP_BATCH;
}

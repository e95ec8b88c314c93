/* SPDX-License-Identifier: BSD-3-Clause */
/* `talaria copy put`: reads local files, which the server pulls chunk by chunk,
 * or, if they are small, many at a time (small.h). */
#include <errno.h>
#include <unistd.h>

#include "copy/check.h"
#include "copy/copy.h"
#include "copy/hash.h"
#include "copy/io.h"
#include "copy/modes.h"
#include "copy/path.h"
#include "copy/resume.h"
#include "copy/signal.h"
#include "copy/small.h"
#include "copy/source.h"
#include "copy/tree.h"

struct put {
    struct copy_pipe pipe;
    struct copy_tree tree;
    struct copy_modes modes;
    bool force;
    bool resume;
};

static enum copy_step
put_walk(struct copy_pipe *pipe, struct copy_slot *slot)
{
    struct put *put = pipe->owner;

    (void) slot;
    return copy_tree_step(&put->tree, pipe) ? COPY_STEP_DONE : COPY_STEP_NONE;
}

static void
on_mkdir(struct copy_slot *slot, void *arg)
{
    struct copy_item *item = arg;
    struct put *put = item->pipe->owner;
    union copy_out out;
    enum copy_status status = copy_item_answer(item, slot, &out);

    if (status == COPY_LOST)
        return;
    if (status == COPY_OK) {
        item->made->state = COPY_DIR_READY;
        /* An interrupted put did not set its final bits and time. */
        if (out.mkdir.is_new ||
            (put->resume && item->mtime.nanos != COPY_TIME_NONE))
            copy_modes_add(&put->modes, &put->pipe.report, item->remote,
                item->mode, &item->mtime);
    } else {
        item->made->state = COPY_DIR_FAILED;
    }
    copy_pipe_remove(item);
}

static void
on_create(struct copy_slot *slot, void *arg)
{
    struct copy_item *item = arg;
    union copy_out out;
    enum copy_status status = copy_item_answer(item, slot, &out);

    if (status == COPY_OK) {
        item->id = out.create.id;
        if (item->resumable)
            item->have = out.create.have;
        item->state = COPY_ITEM_MOVING;
    } else if (status != COPY_LOST) {
        copy_pipe_remove(item);
    }
}

static void
on_link(struct copy_slot *slot, void *arg)
{
    struct copy_item *item = arg;
    union copy_out out;
    enum copy_status status = copy_item_answer(item, slot, &out);

    if (status == COPY_LOST)
        return;
    if (status == COPY_OK && out.mkdir.is_new)
        copy_report_linked(&item->pipe->report);
    else if (status == COPY_OK)
        copy_report_present(&item->pipe->report, 0);
    copy_pipe_remove(item);
}

static void
on_check_open(struct copy_slot *slot, void *arg)
{
    struct copy_item *item = arg;
    union copy_out out;
    enum copy_status status = copy_slot_answer(slot, &out);

    if (status == COPY_LOST)
        return;
    if (status == COPY_OK)
        copy_check_begin(item, out.open.id, item->size, out.open.meta.size);
    else
        copy_pipe_requeue(item); /* create it, or report the error of that */
}

static enum copy_step
put_start(struct copy_item *item, struct copy_slot *slot)
{
    struct put *put = item->pipe->owner;
    union copy_in in;
    int error;

    if (item->made != NULL) {
        in.mode.mode = copy_modes_initial(item->mode);
        in.mode.mtime = (copy_time_t){0, COPY_TIME_NONE};
        copy_proto_path(&in.mode.path, item->remote);
        copy_slot_send(slot, COPY_MKDIR, &in, on_mkdir, item);
        return COPY_STEP_SENT;
    }
    if (item->is_link) {
        in.link.how = (uint8_t) ((put->force ? COPY_HOW_REPLACE : 0) |
                                 (put->resume ? COPY_HOW_RESUME : 0));
        in.link.mtime = item->mtime;
        copy_proto_path(&in.link.path, item->remote);
        copy_proto_path(&in.link.target, item->target);
        copy_slot_send(slot, COPY_LINK_MAKE, &in, on_link, item);
        return COPY_STEP_SENT;
    }
    error = copy_source_open(item);
    if (error != 0) {
        copy_item_error(item, error);
        copy_pipe_remove(item);
        return COPY_STEP_DONE;
    }
    if (item->check == COPY_CHECK_WANTED) {
        copy_proto_path(&in.path.path, item->remote);
        copy_slot_send(slot, COPY_OPEN, &in, on_check_open, item);
        return COPY_STEP_SENT;
    }
    item->resumable =
        put->resume && copy_resume_wanted(item->pipe->client, item->size);
    in.create.size = item->size;
    in.create.how = (uint8_t) ((put->force ? COPY_HOW_REPLACE : 0) |
                               (item->resumable ? COPY_HOW_RESUME : 0));
    copy_proto_path(&in.create.path, item->remote);
    copy_slot_send(slot, COPY_CREATE, &in, on_create, item);
    return COPY_STEP_SENT;
}

static enum copy_step
put_batch(struct copy_pipe *pipe, struct copy_slot *slot)
{
    const struct put *put = pipe->owner;

    return copy_small_send(pipe, slot, put->force);
}

static void
on_write(struct copy_slot *slot, void *arg)
{
    struct copy_item *item = arg;
    union copy_out out;

    item->in_flight--;
    if (copy_item_answer(item, slot, &out) == COPY_OK)
        item->pipe->report.progress.moved += slot->size;
}

static enum copy_step
put_move(struct copy_item *item, struct copy_slot *slot)
{
    union copy_in in = {
        .chunk = {.id = item->id, .offset = slot->offset, .size = slot->size}};
    int error;

    if (item->check != COPY_CHECK_NONE)
        return copy_check_move(item, slot);
    error = copy_io_read(item->fd, slot->memory, slot->size, slot->offset);
    if (error != 0)
        return copy_item_error(item, error);
    copy_hash_add(&item->sum, slot->offset, slot->memory, slot->size);
    copy_slot_send(slot, COPY_WRITE, &in, on_write, item);
    return COPY_STEP_SENT;
}

static void
on_finish(struct copy_slot *slot, void *arg)
{
    struct copy_item *item = arg;
    union copy_out out;

    if (copy_item_answer(item, slot, &out) == COPY_LOST)
        return;
    if (!item->failed)
        copy_report_done(&item->pipe->report, item->size);
    copy_pipe_remove(item);
}

static enum copy_step
put_finish(struct copy_item *item, struct copy_slot *slot)
{
    union copy_in in;

    if (item->check == COPY_CHECK_DIFFERS)
        return copy_check_finish(item, slot);
    if (!item->failed && copy_source_changed(item))
        copy_item_error(item, ESTALE);
    if (item->check != COPY_CHECK_NONE)
        return copy_check_finish(item, slot);
    if (item->failed) {
        in.close.id = item->id;
        copy_slot_send(slot, COPY_CLOSE, &in, on_finish, item);
    } else {
        in.commit.id = item->id;
        in.commit.mode = item->mode;
        in.commit.mtime = item->mtime;
        in.commit.sum = item->sum;
        copy_slot_send(slot, COPY_COMMIT, &in, on_finish, item);
    }
    return COPY_STEP_SENT;
}

static void
put_release(struct copy_item *item)
{
    if (item->fd >= 0)
        close(item->fd);
}

static const struct copy_pipe_ops put_ops = {
    .walk = put_walk,
    .batch = put_batch,
    .start = put_start,
    .move = put_move,
    .finish = put_finish,
    .release = put_release,
};

static void
set_modes(struct put *put)
{
    struct copy_pipe *pipe = &put->pipe;
    union copy_in in;
    union copy_out out;
    char *path;
    mode_t mode;
    copy_time_t mtime;

    while ((path = copy_modes_pop(&put->modes, &mode, &mtime)) != NULL) {
        if (!pipe->client->lost) {
            enum copy_status status;
            in.mode.mode = mode;
            in.mode.mtime = mtime;
            copy_proto_path(&in.mode.path, path);
            status = copy_client_call(pipe->client, COPY_ATTR, &in, &out, NULL);
            if (status != COPY_OK)
                copy_report_failed(
                    &pipe->report, path, copy_status_text(status));
        }
        free(path);
    }
}

int
copy_put(const struct copy_options *options)
{
    struct put put = {.force = options->force, .resume = options->resume};
    struct copy_client *client;
    char *into = strdup(options->into == NULL ? "" : options->into);
    int status = TOOL_FAILED;

    if (into == NULL) {
        copy_report_error("", copy_status_error_text(ENOMEM));
        return status;
    }
    copy_path_clean(into);
    copy_signal_catch();
    client = copy_client_open(options->address, options->token_file,
        options->jobs, HG_BULK_READ_ONLY);
    if (client != NULL && copy_client_path_check(client, into) != 0) {
        copy_report_error(into, copy_status_error_text(ENAMETOOLONG));
    } else if (client != NULL) {
        copy_pipe_init(&put.pipe, client, &put_ops, &put, "put");
        put.pipe.report.json = options->json;
        copy_tree_start(
            &put.tree, &put.pipe, options->paths, options->path_count, into);
        put.tree.check = options->resume;
        copy_pipe_run(&put.pipe);
        set_modes(&put);
        copy_tree_free(&put.tree);
        status = copy_report_end(&put.pipe.report);
    }
    copy_client_close(client);
    free(into);
    return status;
}

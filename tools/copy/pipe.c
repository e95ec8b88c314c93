/* SPDX-License-Identifier: BSD-3-Clause */
/* The pipeline of file transfers: a free slot serves files already started
 * first, then new ones. */

#include <inttypes.h>
#include <stdio.h>

#include "copy/pipe.h"
#include "copy/resume.h"

/* Items that the walk may queue ahead of the transfers. */
#define QUEUE_MAX 16384

/* Steps between two polls for answers. */
#define STEPS_AT_ONCE 16

#define PROGRESS_MS 100

void
copy_pipe_init(struct copy_pipe *pipe, struct copy_client *client,
    const struct copy_pipe_ops *ops, void *owner, const char *verb)
{
    *pipe = (struct copy_pipe){.client = client, .ops = ops, .owner = owner};
    pipe->queue_end = &pipe->queue;
    copy_report_start(&pipe->report, verb);
}

struct copy_dir *
copy_dir_create(void)
{
    struct copy_dir *dir = calloc(1, sizeof(*dir));

    if (dir != NULL)
        dir->refs = 1;
    return dir;
}

struct copy_dir *
copy_dir_ref(struct copy_dir *dir)
{
    if (dir != NULL)
        dir->refs++;
    return dir;
}

void
copy_dir_unref(struct copy_dir *dir)
{
    if (dir != NULL && --dir->refs == 0)
        free(dir);
}

struct copy_item *
copy_item_create(char *local, char *remote)
{
    struct copy_item *item = calloc(1, sizeof(*item));

    if (item == NULL || local == NULL || remote == NULL) {
        free(item);
        free(local);
        free(remote);
        return NULL;
    }
    item->local = local;
    item->shown = local;
    item->remote = remote;
    item->fd = -1;
    return item;
}

void
copy_item_destroy(struct copy_item *item)
{
    item->pipe->ops->release(item);
    copy_dir_unref(item->parent);
    copy_dir_unref(item->made);
    free(item->local);
    free(item->remote);
    free(item->target);
    free(item->redo);
    free(item);
}

void
copy_pipe_add(struct copy_pipe *pipe, struct copy_item *item)
{
    item->pipe = pipe;
    *pipe->queue_end = item;
    pipe->queue_end = &item->next;
    pipe->queued++;
    if (item->made == NULL && !item->is_link)
        copy_report_found(&pipe->report, item->size);
}

static void
deactivate(struct copy_item *item)
{
    struct copy_item **at = &item->pipe->active;

    while (*at != item)
        at = &(*at)->next;
    *at = item->next;
    item->pipe->active_count--;
}

void
copy_pipe_remove(struct copy_item *item)
{
    deactivate(item);
    copy_item_destroy(item);
}

void
copy_pipe_requeue(struct copy_item *item)
{
    struct copy_pipe *pipe = item->pipe;

    deactivate(item);
    pipe->ops->release(item);
    item->fd = -1;
    item->has_temp = false;
    item->id = 0;
    item->offset = 0;
    item->sum = (copy_sum_t){0, 0};
    item->state = COPY_ITEM_STARTING;
    item->check = COPY_CHECK_NONE;
    item->next = pipe->queue;
    if (pipe->queue == NULL)
        pipe->queue_end = &item->next;
    pipe->queue = item;
    pipe->queued++;
}

copy_time_t
copy_item_time(const struct stat *st)
{
    return (copy_time_t){st->st_mtim.tv_sec, (uint32_t) st->st_mtim.tv_nsec};
}

void
copy_item_fail(struct copy_item *item, const char *reason)
{
    if (!item->failed)
        copy_report_failed(&item->pipe->report, item->shown, reason);
    item->failed = true;
}

enum copy_step
copy_item_error(struct copy_item *item, int error)
{
    copy_item_fail(item, copy_status_error_text(error));
    return COPY_STEP_DONE;
}

enum copy_status
copy_item_answer(
    struct copy_item *item, struct copy_slot *slot, union copy_out *out_p)
{
    enum copy_status status = copy_slot_answer(slot, out_p);

    if (status != COPY_OK && status != COPY_LOST)
        copy_item_fail(item, copy_status_text(status));
    return status;
}

/* A failed directory was reported; what is in it is only counted. */
static void
fail_with_parent(struct copy_pipe *pipe, struct copy_item *item)
{
    if (item->made != NULL)
        item->made->state = COPY_DIR_FAILED;
    pipe->report.failed++;
    copy_pipe_take(pipe);
    copy_item_destroy(item);
}

struct copy_item *
copy_pipe_next(struct copy_pipe *pipe)
{
    struct copy_item *item = pipe->queue;

    while (item != NULL && item->parent != NULL &&
           item->parent->state == COPY_DIR_FAILED) {
        fail_with_parent(pipe, item);
        item = pipe->queue;
    }
    if (item != NULL && item->parent != NULL &&
        item->parent->state == COPY_DIR_WAITING)
        return NULL;
    return item;
}

void
copy_pipe_take(struct copy_pipe *pipe)
{
    struct copy_item *item = pipe->queue;

    pipe->queue = item->next;
    if (pipe->queue == NULL)
        pipe->queue_end = &pipe->queue;
    pipe->queued--;
    item->next = NULL;
}

void
copy_pipe_return(struct copy_item *item)
{
    item->next = item->pipe->active;
    item->pipe->active = item;
    item->pipe->active_count++;
}

/* Moves the first queued item to the end of the active list, so that files
 * finish in the order in which they started. */
static void
activate(struct copy_pipe *pipe)
{
    struct copy_item *item = pipe->queue;
    struct copy_item **end = &pipe->active;

    copy_pipe_take(pipe);
    while (*end != NULL)
        end = &(*end)->next;
    *end = item;
    pipe->active_count++;
}

static enum copy_step
start_next(struct copy_pipe *pipe, struct copy_slot *slot)
{
    enum copy_step done = COPY_STEP_NONE;
    struct copy_item *item;

    if (pipe->ops->batch != NULL)
        done = pipe->ops->batch(pipe, slot);
    if (done != COPY_STEP_NONE)
        return done;
    item = copy_pipe_next(pipe);
    if (item == NULL || pipe->active_count >= pipe->client->slot_count ||
        pipe->active_count >= pipe->client->open_max)
        return COPY_STEP_NONE;
    activate(pipe);
    return pipe->ops->start(item, slot);
}

static enum copy_step
move_next(struct copy_item *item, struct copy_slot *slot)
{
    bool verify = copy_resume_next(item, slot);
    enum copy_step step;

    item->in_flight++;
    step = verify ? copy_resume_move(item, slot)
                  : item->pipe->ops->move(item, slot);
    if (step == COPY_STEP_DONE)
        item->in_flight--;
    return step;
}

/* Does one step for an active file. */
static enum copy_step
advance(struct copy_item *item, struct copy_slot *slot)
{
    if (item->state != COPY_ITEM_MOVING)
        return COPY_STEP_NONE;
    if (!item->failed && copy_resume_left(item))
        return move_next(item, slot);
    if (item->in_flight > 0)
        return COPY_STEP_NONE;
    item->state = COPY_ITEM_FINISHING;
    return item->pipe->ops->finish(item, slot);
}

static enum copy_step
walk(struct copy_pipe *pipe, struct copy_slot *slot)
{
    enum copy_step done;

    if (pipe->walked || pipe->queued >= QUEUE_MAX)
        return COPY_STEP_NONE;
    done = pipe->ops->walk(pipe, slot);
    pipe->walked = done == COPY_STEP_NONE && pipe->walks == 0;
    return done;
}

static enum copy_step
step(struct copy_pipe *pipe, struct copy_slot *slot)
{
    enum copy_step done;

    for (struct copy_item *item = pipe->active; item != NULL;
         item = item->next) {
        done = advance(item, slot);
        if (done != COPY_STEP_NONE)
            return done;
    }
    done = start_next(pipe, slot);
    return done != COPY_STEP_NONE ? done : walk(pipe, slot);
}

/* Sends requests until no slot is free or nothing is left to send. Returns
 * whether more steps may be possible at once. */
static bool
send_requests(struct copy_pipe *pipe)
{
    for (int steps = 0; steps < STEPS_AT_ONCE && !pipe->client->lost;) {
        struct copy_slot *slot = copy_client_slot(pipe->client);
        enum copy_step done = COPY_STEP_NONE;

        if (slot == NULL)
            return false;
        /* One step of walking the source's tree for each call, before any
         * transfer: the walk gets ahead, and the progress bar knows the total. */
        if (steps == 0 && pipe->walks == 0)
            done = walk(pipe, slot);
        if (done == COPY_STEP_NONE)
            done = step(pipe, slot);
        if (done != COPY_STEP_SENT && done != COPY_STEP_BATCH)
            copy_client_slot_free(slot);
        if (done == COPY_STEP_NONE)
            return false;
        /* A batch takes as long as many steps. */
        steps += done == COPY_STEP_BATCH ? STEPS_AT_ONCE : 1;
    }
    return !pipe->client->lost;
}

/* Prints why the server is lost, and the file that it interrupts. */
static void
report_lost(struct copy_pipe *pipe)
{
    const struct copy_item *first = pipe->active;
    uint64_t others = pipe->active_count + pipe->queued;
    char count[48] = "";

    while (first != NULL && first->failed) {
        first = first->next;
        others--;
    }
    if (first != NULL && others > 1)
        snprintf(count, sizeof(count), " and %" PRIu64 " more", others - 1);
    copy_report_lost(pipe->client->address, pipe->client->reason,
        first == NULL ? NULL : first->shown, count,
        first != NULL && first->resumable);
}

/* After a lost connection: fails all items. */
static void
fail_remaining(struct copy_pipe *pipe)
{
    report_lost(pipe);
    while (pipe->active != NULL) {
        if (!pipe->active->failed)
            pipe->report.failed++;
        copy_pipe_remove(pipe->active);
    }
    while (pipe->queue != NULL) {
        struct copy_item *item = pipe->queue;
        pipe->queue = item->next;
        pipe->report.failed++;
        copy_item_destroy(item);
    }
    /* Even if the walk had not found anything yet. */
    if (pipe->report.failed == 0)
        pipe->report.failed = 1;
}

void
copy_pipe_run(struct copy_pipe *pipe)
{
    struct copy_client *client = pipe->client;

    client->quiet = true;
    for (;;) {
        bool more = send_requests(pipe);

        pipe->report.progress.found_all = pipe->walked;
        copy_bar_draw(&pipe->report.bar, &pipe->report.progress);
        if (!more && client->busy == 0)
            break;
        copy_client_progress(client, more ? 0 : PROGRESS_MS);
    }
    client->quiet = false;
    if (client->lost)
        fail_remaining(pipe);
}

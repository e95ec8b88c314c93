/* SPDX-License-Identifier: BSD-3-Clause */
/* `talaria copy get`: the server pushes files chunk by chunk. remote.c walks
 * the server's tree. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "copy/check.h"
#include "copy/copy.h"
#include "copy/get.h"
#include "copy/hash.h"
#include "copy/io.h"
#include "copy/link.h"
#include "copy/partial.h"
#include "copy/path.h"
#include "copy/resume.h"
#include "copy/signal.h"

/* Opens the new file and takes over dir, unless it fails. */
static int
create_temp(struct copy_item *item, int dir, const char *name)
{
    struct copy_get *get = item->pipe->owner;
    int error;

    if (!get->resume || !copy_resume_wanted(item->pipe->client, item->size)) {
        copy_partial_remove(dir, name);
        return copy_temp_create(dir, &item->temp);
    }
    error = copy_partial_create(dir, name, &item->temp, &item->have);
    item->resumable = error == 0 && item->temp.keep;
    return error;
}

static void
on_open(struct copy_slot *slot, void *arg)
{
    struct copy_item *item = arg;
    struct copy_get *get = item->pipe->owner;
    union copy_out out;
    enum copy_status status = copy_item_answer(item, slot, &out);
    const char *name;
    struct stat st;
    int dir;
    int error;

    if (status == COPY_LOST)
        return;
    if (status != COPY_OK) {
        copy_pipe_remove(item);
        return;
    }
    if (item->check == COPY_CHECK_WANTED) {
        bool known = fstat(item->fd, &st) == 0;
        copy_check_begin(item, out.open.id, known ? (uint64_t) st.st_size : 0,
            out.open.meta.size);
        return;
    }
    item->id = out.open.id;
    item->size = out.open.meta.size;
    item->mode = out.open.meta.mode;
    item->mtime = out.open.meta.mtime;
    item->state = COPY_ITEM_MOVING;
    error = item->size > INT64_MAX
                ? EFBIG
                : copy_path_parent(get->root, item->local, &dir, &name);
    if (error == 0) {
        error = create_temp(item, dir, name);
        if (error == 0)
            item->has_temp = true;
        else
            close(dir);
    }
    if (error != 0)
        copy_item_error(item, error);
}

/* Returns 0 or an errno value. */
static int
make_link(struct copy_item *item, const char *target, bool *is_new_p)
{
    struct copy_get *get = item->pipe->owner;
    unsigned int how = (get->force ? COPY_HOW_REPLACE : 0) |
                       (get->resume ? COPY_HOW_RESUME : 0);

    return copy_link_make(
        get->root, item->local, target, &item->mtime, how, is_new_p);
}

static void
on_link(struct copy_slot *slot, void *arg)
{
    struct copy_item *item = arg;
    struct copy_report *report = &item->pipe->report;
    union copy_out out;
    enum copy_status status = copy_item_answer(item, slot, &out);
    bool is_new;
    int error;

    if (status == COPY_LOST)
        return;
    if (status == COPY_OK &&
        copy_link_check(item->local, item->base, out.link.target.bytes) != 0) {
        copy_item_fail(item, COPY_LINK_LEAVES);
    } else if (status == COPY_OK) {
        error = make_link(item, out.link.target.bytes, &is_new);
        if (error != 0)
            copy_item_error(item, error);
        else if (is_new)
            copy_report_linked(report);
        else
            copy_report_present(report, 0);
    }
    copy_pipe_remove(item);
}

/* Opens the existing file to compare, if there is one. */
static void
open_present(struct copy_item *item)
{
    struct copy_get *get = item->pipe->owner;
    struct stat st;

    if (copy_path_file(get->root, item->local, &item->fd, &st) != 0)
        item->check = COPY_CHECK_NONE;
}

static enum copy_step
get_start(struct copy_item *item, struct copy_slot *slot)
{
    struct copy_get *get = item->pipe->owner;
    union copy_in in;
    struct stat st;

    if (item->is_link) {
        copy_proto_path(&in.path.path, item->remote);
        copy_slot_send(slot, COPY_LINK_READ, &in, on_link, item);
        return COPY_STEP_SENT;
    }
    if (item->check == COPY_CHECK_WANTED)
        open_present(item);
    if (item->check == COPY_CHECK_NONE && !get->force &&
        copy_path_stat(get->root, item->local, &st) == 0) {
        copy_item_error(item, EEXIST);
        copy_pipe_remove(item);
        return COPY_STEP_DONE;
    }
    copy_proto_path(&in.path.path, item->remote);
    copy_slot_send(slot, COPY_OPEN, &in, on_open, item);
    return COPY_STEP_SENT;
}

/* Zeros are left out, so what a partial file has in their place is removed
 * first. */
static int
write_chunk(const struct copy_item *item, const struct copy_slot *slot)
{
    int fd = item->temp.fd;
    int error = 0;

    if (slot->offset < item->have)
        error = copy_partial_clear(fd, slot->size, slot->offset);
    return error != 0
               ? error
               : copy_io_write(fd, slot->memory, slot->size, slot->offset);
}

static void
on_read(struct copy_slot *slot, void *arg)
{
    struct copy_item *item = arg;
    union copy_out out;
    int error;

    item->in_flight--;
    if (copy_item_answer(item, slot, &out) != COPY_OK || item->failed)
        return;
    copy_hash_add(&item->sum, slot->offset, slot->memory, slot->size);
    error = write_chunk(item, slot);
    if (error != 0)
        copy_item_error(item, error);
    else
        item->pipe->report.progress.moved += slot->size;
}

static enum copy_step
get_move(struct copy_item *item, struct copy_slot *slot)
{
    union copy_in in = {
        .chunk = {.id = item->id, .offset = slot->offset, .size = slot->size}};

    if (item->check != COPY_CHECK_NONE)
        return copy_check_move(item, slot);
    copy_slot_send(slot, COPY_READ, &in, on_read, item);
    return COPY_STEP_SENT;
}

static void
on_close(struct copy_slot *slot, void *arg)
{
    struct copy_item *item = arg;
    struct copy_get *get = item->pipe->owner;
    union copy_out out;
    struct copy_final final = {.size = item->size,
        .mode = item->mode,
        .mtime = item->mtime,
        .replace = get->force};
    int error;

    if (copy_item_answer(item, slot, &out) == COPY_LOST)
        return;
    if (!item->failed) {
        item->temp.keep = false;
        error = copy_hash_equal(&item->sum, &out.close.sum)
                    ? copy_temp_publish(
                          &item->temp, copy_path_base(item->local), &final)
                    : EBADMSG;
        if (error == 0) {
            item->has_temp = false;
            copy_report_done(&item->pipe->report, item->size);
        } else {
            copy_item_error(item, error);
        }
    }
    copy_pipe_remove(item);
}

static enum copy_step
get_finish(struct copy_item *item, struct copy_slot *slot)
{
    union copy_in in = {.close = {.id = item->id}};

    if (item->check != COPY_CHECK_NONE)
        return copy_check_finish(item, slot);
    copy_slot_send(slot, COPY_CLOSE, &in, on_close, item);
    return COPY_STEP_SENT;
}

static void
get_release(struct copy_item *item)
{
    if (item->has_temp)
        copy_temp_leave(&item->temp);
    if (item->fd >= 0)
        close(item->fd);
}

static const struct copy_pipe_ops get_ops = {
    .walk = copy_remote_walk,
    .start = get_start,
    .move = get_move,
    .finish = get_finish,
    .release = get_release,
};

static void
set_modes(struct copy_get *get)
{
    char *path;
    mode_t mode;
    copy_time_t mtime;

    while ((path = copy_modes_pop(&get->modes, &mode, &mtime)) != NULL) {
        int error = 0;
        /* After an interruption they stay writable for --resume. */
        if (!get->pipe.client->lost)
            error = copy_path_attr(get->root, path, mode, &mtime);
        if (error != 0)
            copy_report_failed(
                &get->pipe.report, path, copy_status_error_text(error));
        free(path);
    }
}

/* As cp: into the target if it is a directory, otherwise as the target. */
static int
open_target(struct copy_get *get, char *target)
{
    char *base;
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

    get->root = open(target, flags);
    if (get->root >= 0)
        return 0;
    if ((errno != ENOENT && errno != ENOTDIR) || get->path_count != 1)
        return errno;
    copy_path_clean(target);
    base = copy_path_base(target);
    get->as = strdup(base);
    if (get->as == NULL)
        return ENOMEM;
    *base = 0;
    get->root = open(target[0] == 0 ? "." : target, flags);
    return get->root < 0 ? errno : 0;
}

int
copy_get(const struct copy_options *options)
{
    struct copy_get get = {.force = options->force,
        .resume = options->resume,
        .root = -1,
        .paths = options->paths,
        .path_count = options->path_count};
    struct copy_client *client = NULL;
    char *target = strdup(options->target);
    int status = TOOL_FAILED;
    int error = target == NULL ? ENOMEM : open_target(&get, target);

    copy_signal_catch();
    if (error != 0)
        copy_report_error(options->target, copy_status_error_text(error));
    else
        client = copy_client_open(options->address, options->token_file,
            options->jobs, HG_BULK_WRITE_ONLY);
    if (client != NULL) {
        copy_pipe_init(&get.pipe, client, &get_ops, &get, "get");
        get.pipe.report.json = options->json;
        copy_pipe_run(&get.pipe);
        copy_remote_free(&get);
        set_modes(&get);
        status = copy_report_end(&get.pipe.report);
    }
    copy_client_close(client);
    if (get.root >= 0)
        close(get.root);
    free(get.as);
    free(target);
    return status;
}

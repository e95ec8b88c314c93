/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks the server's tree for a get. Each name from the server is checked
 * before it becomes part of a local path. */
#include <errno.h>

#include "copy/get.h"
#include "copy/link.h"
#include "copy/page.h"
#include "copy/partial.h"
#include "copy/path.h"

struct copy_remote_dir {
    struct copy_remote_dir *next;
    struct copy_get *get;
    char *remote;
    char *local;
    size_t base; /* components of local above the copied tree */
    uint64_t id; /* of the open listing, or 0 */
};

static void
free_dir(struct copy_remote_dir *dir)
{
    free(dir->remote);
    free(dir->local);
    free(dir);
}

static void
push(struct copy_remote_dir *dir)
{
    dir->next = dir->get->dirs;
    dir->get->dirs = dir;
}

static void
failed(struct copy_get *get, const char *remote, int error)
{
    copy_report_failed(
        &get->pipe.report, remote, copy_status_error_text(error));
}

/* Takes over the strings, which may be NULL. Returns NULL if out of memory. */
static struct copy_remote_dir *
create_dir(struct copy_get *get, char *remote, char *local, size_t base)
{
    struct copy_remote_dir *dir = calloc(1, sizeof(*dir));

    if (dir == NULL || remote == NULL || local == NULL) {
        free(dir);
        free(remote);
        free(local);
        failed(get, "", ENOMEM);
        return NULL;
    }
    dir->get = get;
    dir->remote = remote;
    dir->local = local;
    dir->base = base;
    return dir;
}

/* Adds a directory, file or link to the get. Takes over `found`. */
static void
add_found(struct copy_remote_dir *found, const copy_meta_t *meta)
{
    struct copy_get *get = found->get;
    struct copy_item *item;
    bool is_new;
    int error = 0;

    if (meta->type == COPY_DIRECTORY) {
        error = copy_path_mkdir(
            get->root, found->local, copy_modes_initial(meta->mode), &is_new);
        if (error == 0) {
            /* An interrupted get did not set its final bits and time. */
            if (is_new || (get->resume && found->local[0] != 0))
                copy_modes_add(&get->modes, &get->pipe.report, found->local,
                    meta->mode, &meta->mtime);
            push(found);
            return;
        }
    } else if (meta->type == COPY_FILE || meta->type == COPY_LINK) {
        item = copy_item_create(found->local, found->remote);
        found->local = NULL;
        found->remote = NULL;
        if (item == NULL) {
            failed(get, "", ENOMEM);
        } else {
            item->shown = item->remote;
            item->size = meta->size;
            item->mtime = meta->mtime;
            item->base = found->base;
            item->is_link = meta->type == COPY_LINK;
            if (get->resume)
                item->check = COPY_CHECK_WANTED;
            copy_pipe_add(&get->pipe, item);
        }
    } else {
        copy_report_skipped(&get->pipe.report, found->remote, "special file");
    }
    if (error != 0)
        failed(get, found->remote, error);
    free_dir(found);
}

static int
add_entry(void *arg, const copy_entry_t *entry)
{
    struct copy_remote_dir *dir = arg;
    struct copy_get *get = dir->get;
    const char *name = entry->name.bytes;
    struct copy_remote_dir *found;
    int error;

    if (copy_partial_is_name(name))
        return 0;
    found = create_dir(get, copy_path_join(dir->remote, name),
        copy_path_join(dir->local, name), dir->base);
    if (found == NULL)
        return 0;
    error = copy_client_path_check(get->pipe.client, found->remote);
    if (error == 0)
        error = copy_path_check(found->local, strlen(found->local));
    if (error != 0) {
        failed(get, found->remote, error);
        free_dir(found);
        return 0;
    }
    add_found(found, &entry->meta);
    return 0;
}

static void
on_list(struct copy_slot *slot, void *arg)
{
    struct copy_remote_dir *dir = arg;
    struct copy_get *get = dir->get;
    struct copy_client *client = get->pipe.client;
    union copy_out out;
    enum copy_status status = copy_slot_answer(slot, &out);
    int error;

    get->pipe.walks--;
    if (status == COPY_OK) {
        error = copy_page_read(client->hg_class, slot->memory,
            client->chunk_size, &out.list, add_entry, dir);
        if (error == 0 && out.list.id != 0) {
            dir->id = out.list.id;
            push(dir);
            return;
        }
        if (error != 0)
            failed(get, dir->remote, error);
    } else if (status != COPY_LOST) {
        copy_report_failed(
            &get->pipe.report, dir->remote, copy_status_text(status));
    }
    free_dir(dir);
}

static void
on_stat(struct copy_slot *slot, void *arg)
{
    struct copy_remote_dir *found = arg;
    struct copy_get *get = found->get;
    union copy_out out;
    enum copy_status status = copy_slot_answer(slot, &out);

    get->pipe.walks--;
    if (status == COPY_OK) {
        add_found(found, &out.stat.meta);
        return;
    }
    if (status != COPY_LOST)
        copy_report_failed(
            &get->pipe.report, found->remote, copy_status_text(status));
    free_dir(found);
}

/* Requests the type of the next path of the command line. */
static enum copy_step
stat_path(struct copy_get *get, struct copy_slot *slot)
{
    struct copy_remote_dir *found;
    char *remote = strdup(*get->paths);
    char *local = NULL;
    union copy_in in;

    get->paths++;
    get->path_count--;
    if (remote != NULL) {
        local = strdup(get->as != NULL ? get->as : copy_path_base(remote));
        copy_path_clean(remote);
    }
    found = create_dir(
        get, remote, local, local == NULL ? 0 : copy_link_depth(local));
    if (found == NULL)
        return COPY_STEP_DONE;
    if (copy_client_path_check(get->pipe.client, found->remote) != 0) {
        failed(get, found->remote, ENAMETOOLONG);
        free_dir(found);
        return COPY_STEP_DONE;
    }
    get->pipe.walks++;
    copy_proto_path(&in.path.path, found->remote);
    copy_slot_send(slot, COPY_STAT, &in, on_stat, found);
    return COPY_STEP_SENT;
}

enum copy_step
copy_remote_walk(struct copy_pipe *pipe, struct copy_slot *slot)
{
    struct copy_get *get = pipe->owner;
    struct copy_remote_dir *dir = get->dirs;
    union copy_in in;

    if (dir == NULL)
        return get->path_count == 0 ? COPY_STEP_NONE : stat_path(get, slot);
    get->dirs = dir->next;
    pipe->walks++;
    in.list.id = dir->id;
    copy_proto_path(&in.list.path, dir->id == 0 ? dir->remote : "");
    copy_slot_send(slot, COPY_LIST, &in, on_list, dir);
    return COPY_STEP_SENT;
}

void
copy_remote_free(struct copy_get *get)
{
    while (get->dirs != NULL) {
        struct copy_remote_dir *dir = get->dirs;
        get->dirs = dir->next;
        free_dir(dir);
    }
}

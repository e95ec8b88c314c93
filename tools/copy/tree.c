/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks the sources of a put. Each directory is read completely before the next
 * is opened, so that a deep tree needs few descriptors. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "copy/link.h"
#include "copy/partial.h"
#include "copy/tree.h"

/* Of the directories of --into. */
#define INTO_MODE 0777

static void
out_of_memory(struct copy_pipe *pipe, const char *path)
{
    copy_report_failed(&pipe->report, path, copy_status_error_text(ENOMEM));
}

/* Returns 0, or an errno value: the path is invalid at the server. */
static int
check_remote(const struct copy_pipe *pipe, const char *remote)
{
    int error = copy_path_check(remote, strlen(remote));

    return error != 0 ? error : copy_client_path_check(pipe->client, remote);
}

/* Queues a directory. *made_p: its state, with a reference for the caller. */
static int
add_directory(struct copy_pipe *pipe, struct copy_dir *parent,
    const char *local, const char *remote, mode_t mode,
    const copy_time_t *mtime, struct copy_dir **made_p)
{
    struct copy_dir *made = copy_dir_create();
    struct copy_item *item = NULL;

    if (made != NULL)
        item = copy_item_create(strdup(local), strdup(remote));
    if (item == NULL) {
        copy_dir_unref(made);
        return ENOMEM;
    }
    item->parent = copy_dir_ref(parent);
    item->made = copy_dir_ref(made);
    item->mode = mode;
    item->mtime = *mtime;
    copy_pipe_add(pipe, item);
    *made_p = made;
    return 0;
}

/* Queues a directory, and its contents for the walk. Takes over the strings. */
static int
found_directory(struct copy_tree *tree, struct copy_pipe *pipe,
    struct copy_dir *parent, char *local, char *remote, size_t base,
    const struct stat *st)
{
    struct copy_tree_dir *found = calloc(1, sizeof(*found));
    copy_time_t mtime = copy_item_time(st);
    int error = found == NULL ? ENOMEM : 0;

    if (error == 0 && remote[0] == 0)
        found->dir = copy_dir_ref(parent); /* the top exists */
    else if (error == 0)
        error = add_directory(
            pipe, parent, local, remote, st->st_mode, &mtime, &found->dir);
    if (error != 0) {
        free(found);
        free(local);
        free(remote);
        return error;
    }
    found->local = local;
    found->remote = remote;
    found->base = base;
    found->next = tree->dirs;
    tree->dirs = found;
    return 0;
}

static int
found_file(struct copy_tree *tree, struct copy_pipe *pipe,
    struct copy_dir *parent, char *local, char *remote, const struct stat *st)
{
    struct copy_item *item = copy_item_create(local, remote);

    if (item == NULL)
        return ENOMEM;
    item->parent = copy_dir_ref(parent);
    item->mode = st->st_mode;
    item->size = (uint64_t) st->st_size;
    if (tree->check)
        item->check = COPY_CHECK_WANTED;
    copy_pipe_add(pipe, item);
    return 0;
}

/* Queues a link if it stays within the tree. Takes over the strings. */
static int
found_link(struct copy_pipe *pipe, struct copy_dir *parent, char *local,
    char *remote, size_t base, const struct stat *st)
{
    char target[COPY_PATH_SIZE];
    struct copy_item *item;
    char *text;
    const char *reason = NULL;
    int error = copy_link_read(AT_FDCWD, local, target);

    if (error == 0 && strlen(remote) + strlen(target) > pipe->client->path_max)
        error = ENAMETOOLONG;
    if (error != 0)
        reason = copy_status_error_text(error);
    else if (copy_link_check(remote, base, target) != 0)
        reason = COPY_LINK_LEAVES;
    if (reason != NULL) {
        copy_report_failed(&pipe->report, local, reason);
        free(local);
        free(remote);
        return 0;
    }
    text = strdup(target);
    if (text == NULL) {
        free(local);
        free(remote);
        return ENOMEM;
    }
    item = copy_item_create(local, remote);
    if (item == NULL) {
        free(text);
        return ENOMEM;
    }
    item->target = text;
    item->is_link = true;
    item->parent = copy_dir_ref(parent);
    item->mtime = copy_item_time(st);
    copy_pipe_add(pipe, item);
    return 0;
}

/* Queues a directory entry or source. Takes over the strings, which may be
 * NULL. */
static void
found(struct copy_tree *tree, struct copy_pipe *pipe, struct copy_dir *parent,
    char *local, char *remote, size_t base, const struct stat *st)
{
    int error;

    if (local == NULL || remote == NULL) {
        out_of_memory(pipe, local == NULL ? "" : local);
        free(local);
        free(remote);
        return;
    }
    error = check_remote(pipe, remote);
    if (error != 0) {
        copy_report_failed(&pipe->report, local, copy_status_error_text(error));
    } else if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) ||
               S_ISLNK(st->st_mode)) {
        if (S_ISREG(st->st_mode))
            error = found_file(tree, pipe, parent, local, remote, st);
        else if (S_ISDIR(st->st_mode))
            error =
                found_directory(tree, pipe, parent, local, remote, base, st);
        else
            error = found_link(pipe, parent, local, remote, base, st);
        if (error != 0)
            out_of_memory(pipe, "");
        return;
    } else {
        copy_report_skipped(&pipe->report, local, "special file");
    }
    free(local);
    free(remote);
}

static void
add_source(struct copy_tree *tree, struct copy_pipe *pipe, char *source)
{
    struct stat st;
    char *local = strdup(source);
    char *remote;

    if (local == NULL) {
        out_of_memory(pipe, source);
        return;
    }
    if (lstat(source, &st) < 0) {
        copy_report_failed(
            &pipe->report, source, copy_status_error_text(errno));
        free(local);
        return;
    }
    remote = copy_path_join(tree->into, copy_path_base(local));
    found(tree, pipe, tree->parent, strdup(source), remote,
        remote == NULL ? 0 : copy_link_depth(remote), &st);
    free(local);
}

static void
read_directory(
    struct copy_tree *tree, struct copy_pipe *pipe, struct copy_tree_dir *from)
{
    struct dirent *entry;
    struct stat st;
    int fd = open(from->local, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL) {
        copy_report_failed(
            &pipe->report, from->local, copy_status_error_text(errno));
        if (fd >= 0)
            close(fd);
        return;
    }
    errno = 0;
    while ((entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;
        char *local;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            copy_partial_is_name(name))
            continue;
        local = copy_path_join(from->local, name);
        if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            found(tree, pipe, from->dir, local,
                copy_path_join(from->remote, name), from->base, &st);
        } else {
            copy_report_failed(&pipe->report, local == NULL ? name : local,
                copy_status_error_text(errno));
            free(local);
        }
        errno = 0;
    }
    if (errno != 0)
        copy_report_failed(
            &pipe->report, from->local, copy_status_error_text(errno));
    closedir(dir);
}

void
copy_tree_start(struct copy_tree *tree, struct copy_pipe *pipe, char **sources,
    int count, const char *into)
{
    const copy_time_t now = {0, COPY_TIME_NONE};
    char *path = strdup(into);
    mode_t mask = umask(0);
    int error = path == NULL ? ENOMEM : 0;

    umask(mask);
    *tree = (struct copy_tree){
        .sources = sources, .source_count = count, .into = into};
    for (size_t end = 0; error == 0 && into[end] != 0;) {
        struct copy_dir *made;
        end += into[end] == '/';
        end += strcspn(into + end, "/");
        memcpy(path, into, end);
        path[end] = 0;
        error = add_directory(
            pipe, tree->parent, path, path, INTO_MODE & ~mask, &now, &made);
        if (error == 0) {
            copy_dir_unref(tree->parent);
            tree->parent = made;
        }
    }
    if (error != 0)
        out_of_memory(pipe, into);
    free(path);
}

static void
free_dir(struct copy_tree_dir *dir)
{
    copy_dir_unref(dir->dir);
    free(dir->local);
    free(dir->remote);
    free(dir);
}

bool
copy_tree_step(struct copy_tree *tree, struct copy_pipe *pipe)
{
    struct copy_tree_dir *dir = tree->dirs;

    if (dir != NULL) {
        tree->dirs = dir->next;
        /* No need to read a directory that could not be created. */
        if (dir->dir == NULL || dir->dir->state != COPY_DIR_FAILED)
            read_directory(tree, pipe, dir);
        free_dir(dir);
        return true;
    }
    if (tree->source_count == 0)
        return false;
    tree->source_count--;
    add_source(tree, pipe, *tree->sources++);
    return true;
}

void
copy_tree_free(struct copy_tree *tree)
{
    while (tree->dirs != NULL) {
        struct copy_tree_dir *dir = tree->dirs;
        tree->dirs = dir->next;
        free_dir(dir);
    }
    copy_dir_unref(tree->parent);
}

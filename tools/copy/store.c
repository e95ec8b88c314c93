/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the files of a store request, one after the other, each as create,
 * write and commit would. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "copy/batch.h"
#include "copy/hash.h"
#include "copy/io.h"
#include "copy/path.h"
#include "copy/store.h"
#include "copy/temp.h"

struct store {
    int root;
    bool replace;
    copy_results_t *results;
    /* The directory of the last file, for the next one. */
    int dir; /* or -1 */
    char path[COPY_PATH_SIZE];
};

/* Returns the length of the path of a file's directory. */
static size_t
directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? 0 : (size_t) (slash - path);
}

/* Opens the directory of a file, unless it is that of the last one. *dir_p: of
 * the store. */
static int
open_parent(
    struct store *store, const char *path, int *dir_p, const char **name_p)
{
    size_t length = directory_length(path);
    int dir;
    int error;

    if (store->dir >= 0 && directory_length(store->path) == length &&
        memcmp(store->path, path, length) == 0) {
        *dir_p = store->dir;
        *name_p = length == 0 ? path : path + length + 1;
        return 0;
    }
    error = copy_path_parent(store->root, path, &dir, name_p);
    if (error != 0)
        return error;
    if (store->dir >= 0)
        close(store->dir);
    store->dir = *dir_p = dir;
    snprintf(store->path, sizeof(store->path), "%s", path);
    return 0;
}

/* Writes a file and gives it its name. */
static int
write_file(struct copy_temp *temp, const char *name, const copy_file_t *file,
    const void *contents, bool replace)
{
    const struct copy_final final = {.size = file->size,
        /* copy_io_write leaves out zeros */
        .last_written = file->size == 0 ||
                        ((const unsigned char *) contents)[file->size - 1] != 0,
        .mode = file->mode,
        .mtime = file->mtime,
        .replace = replace};
    int error = copy_io_write(temp->fd, contents, file->size, 0);

    return error != 0 ? error : copy_temp_publish(temp, name, &final);
}

static enum copy_status
store_file(struct store *store, const copy_file_t *file, const void *contents)
{
    copy_sum_t sum = {0, 0};
    struct copy_temp temp;
    const char *name;
    int dir;
    int error = copy_path_check(file->path.bytes, file->path.length);

    if (error != 0)
        return copy_status_of(error);
    if (file->path.length == 0)
        return COPY_IS_DIRECTORY;
    if (file->size > 0)
        copy_hash_add(&sum, 0, contents, file->size);
    if (!copy_hash_equal(&sum, &file->sum))
        return COPY_CHECKSUM;
    error = open_parent(store, file->path.bytes, &dir, &name);
    if (error != 0)
        return copy_status_of(error);
    error = copy_temp_create(dir, &temp);
    if (error != 0)
        return copy_status_of(error);
    temp.shares_dir = true;
    error = write_file(&temp, name, file, contents, store->replace);
    if (error != 0)
        copy_temp_drop(&temp);
    return copy_status_of(error);
}

static void
on_file(void *arg, const copy_file_t *file, const void *contents)
{
    struct store *store = arg;
    copy_results_t *results = store->results;

    results->status[results->count++] =
        (uint8_t) store_file(store, file, contents);
}

enum copy_status
copy_store_files(const struct copy_server *server, void *memory, size_t size,
    uint32_t count, bool replace, copy_results_t *results_p)
{
    struct store store = {.root = server->root,
        .replace = replace,
        .results = results_p,
        .dir = -1};
    int error;

    results_p->count = 0;
    error =
        copy_batch_read(server->hg_class, memory, size, count, on_file, &store);
    if (store.dir >= 0)
        close(store.dir);
    return error == EPROTO ? COPY_INVALID : copy_status_of(error);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the files of a store request, one after the other, each as create,
 * write and commit would. */
#include <errno.h>
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
};

/* Writes a file and gives it its name. */
static int
write_file(struct copy_temp *temp, const char *name, const copy_file_t *file,
    const void *contents, bool replace)
{
    const struct copy_final final = {.size = file->size,
        .mode = file->mode,
        .mtime = file->mtime,
        .replace = replace};
    int error = copy_io_write(temp->fd, contents, file->size, 0);

    return error != 0 ? error : copy_temp_publish(temp, name, &final);
}

static enum copy_status
store_file(
    const struct store *store, const copy_file_t *file, const void *contents)
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
    error = copy_path_parent(store->root, file->path.bytes, &dir, &name);
    if (error != 0)
        return copy_status_of(error);
    error = copy_temp_create(dir, &temp);
    if (error != 0) {
        close(dir);
        return copy_status_of(error);
    }
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
    struct store store = {server->root, replace, results_p};
    int error;

    results_p->count = 0;
    error =
        copy_batch_read(server->hg_class, memory, size, count, on_file, &store);
    return error == EPROTO ? COPY_INVALID : copy_status_of(error);
}

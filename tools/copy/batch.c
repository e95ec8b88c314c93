/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a store request: the client writes it, the server checks it. */
#include <errno.h>

#include "copy/batch.h"

/* Bytes of an encoded copy_file_t without its path. */
#define FILE_FIXED (4 + 8 + 4 + 4 + 16 + 2)

hg_return_t
copy_batch_write(
    hg_class_t *hg_class, void *memory, size_t size, struct copy_batch *batch_p)
{
    batch_p->count = 0;
    return hg_proc_create_set(
        hg_class, memory, size, HG_ENCODE, HG_NOHASH, &batch_p->proc);
}

bool
copy_batch_fits(const struct copy_batch *batch, size_t path, uint64_t contents)
{
    hg_size_t left = hg_proc_get_size_left(batch->proc);

    return batch->count < COPY_STORE_MAX && left >= FILE_FIXED + path &&
           left - FILE_FIXED - path >= contents;
}

void
copy_batch_append(
    struct copy_batch *batch, copy_file_t *file, const void *contents)
{
    hg_proc_copy_file_t(batch->proc, file);
    hg_proc_bytes(batch->proc, (void *) (uintptr_t) contents, file->size);
    batch->count++;
}

uint32_t
copy_batch_end(struct copy_batch *batch)
{
    uint32_t size = (uint32_t) hg_proc_get_size_used(batch->proc);

    hg_proc_free(batch->proc);
    return size;
}

/* Decodes all files and calls `found` for each, unless it is NULL. */
static int
decode(hg_proc_t proc, uint32_t count,
    void (*found)(void *arg, const copy_file_t *file, const void *contents),
    void *arg)
{
    copy_file_t file;

    for (; count > 0; count--) {
        void *contents;
        if (hg_proc_copy_file_t(proc, &file) != HG_SUCCESS ||
            file.size > hg_proc_get_size_left(proc))
            return EPROTO;
        contents = hg_proc_save_ptr(proc, file.size);
        if (found != NULL)
            found(arg, &file, contents);
        hg_proc_restore_ptr(proc, contents, file.size);
    }
    return hg_proc_get_size_left(proc) == 0 ? 0 : EPROTO;
}

int
copy_batch_read(hg_class_t *hg_class, void *memory, size_t size, uint32_t count,
    void (*found)(void *arg, const copy_file_t *file, const void *contents),
    void *arg)
{
    hg_proc_t proc;
    int error;

    if (hg_proc_create_set(
            hg_class, memory, size, HG_DECODE, HG_NOHASH, &proc) != HG_SUCCESS)
        return ENOMEM;
    error = decode(proc, count, NULL, NULL);
    if (error == 0 &&
        hg_proc_reset(proc, memory, size, HG_DECODE) != HG_SUCCESS)
        error = EPROTO;
    if (error == 0)
        error = decode(proc, count, found, arg);
    hg_proc_free(proc);
    return error;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a store request: whole files, one behind the other. */
#ifndef COPY_BATCH_H
#define COPY_BATCH_H

#include "copy/proto.h"

/* A batch that is being written. */
struct copy_batch {
    hg_proc_t proc;
    uint32_t count; /* files written */
};

/* Starts a batch in `size` bytes of memory, to be ended by copy_batch_end.
 * HG_NOMEM. */
hg_return_t copy_batch_write(hg_class_t *hg_class, void *memory, size_t size,
    struct copy_batch *batch_p);

/* Whether a file with a path and contents of these lengths in bytes fits. */
bool copy_batch_fits(
    const struct copy_batch *batch, size_t path, uint64_t contents);

/* Appends a file, which must fit. */
void copy_batch_append(
    struct copy_batch *batch, copy_file_t *file, const void *contents);

/* Ends a batch. Returns the bytes written. */
uint32_t copy_batch_end(struct copy_batch *batch);

/* Reads a batch of `count` files in `size` bytes of memory, which must not
 * change meanwhile, and calls `found` for each file with its contents
 * (file->size bytes, valid during the call). The batch is checked first: no file
 * of an invalid batch is found. Paths are not checked. Returns 0, ENOMEM, or
 * EPROTO: the batch is invalid. */
int copy_batch_read(hg_class_t *hg_class, void *memory, size_t size,
    uint32_t count,
    void (*found)(void *arg, const copy_file_t *file, const void *contents),
    void *arg);

#endif /* COPY_BATCH_H */

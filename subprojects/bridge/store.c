/* SPDX-License-Identifier: BSD-3-Clause */
/* A store of blocks in memory. */
#include "blocks.h"
#include "serve.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct block {
    LIST_ENTRY(block) next;
    char *name;
    void *bytes;
    hg_size_t size;
};

static LIST_HEAD(, block) blocks = LIST_HEAD_INITIALIZER(blocks);

/* A request during its transfer. */
struct request {
    hg_handle_t handle;
    block_in_t in;
    hg_bulk_t local;
    struct block *block; /* write: not in the store yet; read: a copy */
    bool keep;           /* put the block in the store after success */
    hg_size_t size;
};

static struct block *
block_find(const char *name)
{
    struct block *block;

    LIST_FOREACH (block, &blocks, next)
        if (strcmp(block->name, name) == 0)
            return block;
    return NULL;
}

static void
block_destroy(struct block *block)
{
    if (!block)
        return;
    free(block->name);
    free(block->bytes);
    free(block);
}

static struct block *
block_create(const char *name, hg_size_t size)
{
    struct block *block = calloc(1, sizeof *block);

    if (!block)
        return NULL;
    block->name = strdup(name);
    block->bytes = malloc(size + 1); /* never 0 bytes */
    block->size = size;
    if (block->name && block->bytes)
        return block;
    block_destroy(block);
    return NULL;
}

static void
block_keep(struct block *block)
{
    struct block *old = block_find(block->name);

    if (old) {
        LIST_REMOVE(old, next);
        block_destroy(old);
    }
    LIST_INSERT_HEAD(&blocks, block, next);
}

static void
request_end(struct request *request, hg_return_t ret)
{
    hg_handle_t handle = request->handle;
    hg_size_t size = request->size;

    if (ret == HG_SUCCESS && request->keep) {
        block_keep(request->block);
        request->block = NULL;
    }
    block_destroy(request->block);
    HG_Bulk_free(request->local);
    HG_Free_input(handle, &request->in);
    free(request);
    blocks_answer(handle, ret, size);
}

static hg_return_t
moved(const struct hg_cb_info *info)
{
    request_end(info->arg, info->ret);
    return HG_SUCCESS;
}

/* Transfers bytes between the origin's memory and a block. */
static void
request_move(
    struct request *request, hg_bulk_op_t op, void *bytes, hg_size_t size)
{
    const struct hg_info *info = HG_Get_info(request->handle);
    hg_return_t ret = HG_SUCCESS;

    if (size == 0) {
        request_end(request, ret);
        return;
    }
    ret = HG_Bulk_create(info->hg_class, 1, &bytes, &size,
        op == HG_BULK_PULL ? HG_BULK_WRITE_ONLY : HG_BULK_READ_ONLY,
        &request->local);
    if (ret == HG_SUCCESS)
        ret = HG_Bulk_transfer(info->context, moved, request, op, info->addr,
            request->in.data, 0, request->local, 0, size, HG_OP_ID_IGNORE);
    if (ret != HG_SUCCESS)
        request_end(request, ret);
}

/* NULL: a response was sent already. */
static struct request *
request_begin(hg_handle_t handle)
{
    struct request *request = calloc(1, sizeof *request);
    hg_return_t ret = HG_NOMEM;

    if (request) {
        request->handle = handle;
        ret = HG_Get_input(handle, &request->in);
    }
    if (ret != HG_SUCCESS) {
        free(request);
        blocks_answer(handle, ret, 0);
        return NULL;
    }
    if (request->in.name)
        return request;
    request_end(request, HG_INVALID_ARG);
    return NULL;
}

static hg_return_t
on_write(hg_handle_t handle)
{
    struct request *request = request_begin(handle);
    hg_size_t size;

    if (!request)
        return HG_SUCCESS;
    size = HG_Bulk_get_size(request->in.data);
    if (size > BLOCK_SIZE_MAX) {
        request_end(request, HG_OVERFLOW);
        return HG_SUCCESS;
    }
    request->size = size;
    request->keep = true;
    request->block = block_create(request->in.name, size);
    if (request->block)
        request_move(request, HG_BULK_PULL, request->block->bytes, size);
    else
        request_end(request, HG_NOMEM);
    return HG_SUCCESS;
}

static hg_return_t
on_read(hg_handle_t handle)
{
    struct request *request = request_begin(handle);
    const struct block *block;
    hg_size_t room;

    if (!request)
        return HG_SUCCESS;
    block = block_find(request->in.name);
    if (!block) {
        request_end(request, HG_NOENTRY);
        return HG_SUCCESS;
    }
    request->size = block->size;
    room = HG_Bulk_get_size(request->in.data);
    /* A write of the same name may replace the block during this transfer, so a
     * copy is sent. */
    request->block = block_create("", block->size);
    if (!request->block) {
        request_end(request, HG_NOMEM);
        return HG_SUCCESS;
    }
    memcpy(request->block->bytes, block->bytes, block->size);
    request_move(request, HG_BULK_PUSH, request->block->bytes,
        block->size < room ? block->size : room);
    return HG_SUCCESS;
}

int
main(int argc, char **argv)
{
    hg_context_t *context = NULL;
    hg_class_t *hg_class;
    struct block *block;
    int ret = -1;

    if (argc != 2 || serve_prepare() != 0) {
        fprintf(stderr, "usage: block-store INFO\n");
        return 2;
    }
    hg_class = HG_Init(argv[1], HG_TRUE);
    if (hg_class)
        context = HG_Context_create(hg_class);
    if (context) {
        blocks_register(hg_class, on_write, on_read);
        ret = blocks_print_address(hg_class, "");
        if (ret == 0)
            ret = serve(&context, 1);
        HG_Context_destroy(context);
    }
    HG_Finalize(hg_class);
    while ((block = LIST_FIRST(&blocks)) != NULL) {
        LIST_REMOVE(block, next);
        block_destroy(block);
    }
    return ret == 0 ? 0 : 1;
}

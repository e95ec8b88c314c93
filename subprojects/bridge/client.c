/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a file to a store, or reads one, directly or through a bridge. */
#include "blocks.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM (64U << 10) /* bytes; a larger block is requested again */

struct client {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t server;
    struct block_ids ids;
};

struct call {
    bool done;
    hg_return_t ret;
    block_out_t out;
};

static hg_return_t
answered(const struct hg_cb_info *info)
{
    struct call *call = info->arg;
    hg_handle_t handle = info->info.forward.handle;

    call->ret = info->ret;
    if (call->ret == HG_SUCCESS)
        call->ret = HG_Get_output(handle, &call->out);
    if (call->ret == HG_SUCCESS) {
        call->ret = (hg_return_t) call->out.ret;
        HG_Free_output(handle, &call->out);
    }
    call->done = true;
    return HG_SUCCESS;
}

/* Calls an RPC with memory of this process. *size_p: size of the block. */
static hg_return_t
block_call(struct client *client, hg_id_t id, const char *name, void *bytes,
    hg_size_t size, hg_size_t *size_p)
{
    struct call call = {.done = false};
    block_in_t in = {.name = name, .data = HG_BULK_NULL};
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t ret = HG_SUCCESS;

    if (size > 0)
        ret = HG_Bulk_create(client->hg_class, 1, &bytes, &size,
            id == client->ids.write ? HG_BULK_READ_ONLY : HG_BULK_WRITE_ONLY,
            &in.data);
    if (ret == HG_SUCCESS)
        ret = HG_Create(client->context, client->server, id, &handle);
    if (ret == HG_SUCCESS)
        ret = HG_Forward(handle, answered, &call, &in);
    while (ret == HG_SUCCESS && !call.done) {
        ret = HG_Progress(client->context, HG_MAX_IDLE_TIME);
        if (ret == HG_SUCCESS)
            HG_Trigger(client->context, 0, 1, NULL);
        else if (ret == HG_TIMEOUT)
            ret = HG_SUCCESS;
    }
    if (ret == HG_SUCCESS) {
        ret = call.ret;
        *size_p = call.out.size;
    }
    HG_Destroy(handle);
    HG_Bulk_free(in.data);
    return ret;
}

/* Reads a file, at most one byte more than a block may have. */
static void *
file_read(const char *path, hg_size_t *size_p)
{
    FILE *file = fopen(path, "rbe");
    void *bytes = file ? malloc(BLOCK_SIZE_MAX + 1) : NULL;

    if (bytes) {
        *size_p = fread(bytes, 1, BLOCK_SIZE_MAX + 1, file);
        if (ferror(file)) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (file)
        fclose(file);
    return bytes;
}

static int
file_write(const char *path, const void *bytes, hg_size_t size)
{
    FILE *file = fopen(path, "wbe");
    bool written = file && fwrite(bytes, 1, size, file) == size;

    if (file && fclose(file) != 0)
        written = false;
    if (!written)
        perror(path);
    return written ? 0 : 1;
}

static int
told(hg_return_t ret, const char *name)
{
    if (ret != HG_SUCCESS)
        fprintf(stderr, "%s: %s\n", name, HG_Error_to_string(ret));
    return ret == HG_SUCCESS ? 0 : 1;
}

static int
client_write(struct client *client, const char *name, const char *path)
{
    hg_size_t size = 0;
    void *bytes = file_read(path, &size);
    int ret;

    if (!bytes) {
        perror(path);
        return 1;
    }
    ret = told(
        block_call(client, client->ids.write, name, bytes, size, &size), name);
    free(bytes);
    return ret;
}

static int
client_read(struct client *client, const char *name, const char *path)
{
    hg_size_t room = FIRST_ROOM, size = 0;
    hg_return_t ret;
    void *bytes;
    int status;

    for (;;) {
        bytes = malloc(room);
        ret = bytes ? block_call(
                          client, client->ids.read, name, bytes, room, &size)
                    : HG_NOMEM;
        if (ret != HG_SUCCESS || size <= room)
            break;
        free(bytes);
        room = size;
    }
    status = told(ret, name);
    if (status == 0)
        status = file_write(path, bytes, size);
    free(bytes);
    return status;
}

static int
client_open(struct client *client, const char *info, const char *server)
{
    hg_return_t ret;

    client->hg_class = HG_Init(info, HG_FALSE);
    if (client->hg_class)
        client->context = HG_Context_create(client->hg_class);
    if (!client->context)
        return 1;
    client->ids = blocks_register(client->hg_class, NULL, NULL);
    ret = HG_Addr_lookup2(client->hg_class, server, &client->server);
    return told(ret, server);
}

int
main(int argc, char **argv)
{
    struct client client = {.server = HG_ADDR_NULL};
    bool writing = argc == 6 && strcmp(argv[3], "write") == 0;
    int ret;

    if (argc != 6 || (!writing && strcmp(argv[3], "read") != 0)) {
        fprintf(
            stderr, "usage: block-client INFO ADDRESS write|read NAME FILE\n");
        return 2;
    }
    ret = client_open(&client, argv[1], argv[2]);
    if (ret == 0)
        ret = writing ? client_write(&client, argv[4], argv[5])
                      : client_read(&client, argv[4], argv[5]);
    HG_Addr_free(client.hg_class, client.server);
    HG_Context_destroy(client.context);
    HG_Finalize(client.hg_class);
    return ret;
}

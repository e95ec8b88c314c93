/* SPDX-License-Identifier: BSD-3-Clause */
/* A server in C:
 *
 *   server INFO
 *
 * prints its address and serves until SIGTERM. */
#include "rpcs.h"

#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t stopped;

static void
stop(int number)
{
    (void) number;
    stopped = 1;
}

static hg_return_t
sum(hg_handle_t handle)
{
    sum_in_t in;
    sum_out_t out;
    hg_return_t ret = HG_Get_input(handle, &in);

    if (ret != HG_SUCCESS)
        return ret;
    out.sum = (int32_t) ((uint32_t) in.a + (uint32_t) in.b);
    HG_Free_input(handle, &in);
    ret = HG_Respond(handle, NULL, NULL, &out);
    return ret == HG_SUCCESS ? HG_Destroy(handle) : ret;
}

static hg_return_t
types(hg_handle_t handle)
{
    types_t in;
    hg_return_t ret = HG_Get_input(handle, &in);

    if (ret != HG_SUCCESS)
        return ret;
    ret = HG_Respond(handle, NULL, NULL, &in);
    HG_Free_input(handle, &in);
    return ret == HG_SUCCESS ? HG_Destroy(handle) : ret;
}

/* Replies with the bytes; without bytes with a failure. */
static hg_return_t
echo(hg_handle_t handle)
{
    char text[] = "nothing to echo";
    bytes_t in;
    reply_t out = {0};
    hg_return_t ret = HG_Get_input(handle, &in);

    if (ret != HG_SUCCESS)
        return ret;
    out.bytes = in;
    if (in.size == 0) {
        out.code = HG_NODEV;
        out.text = text;
    }
    ret = HG_Respond(handle, NULL, NULL, &out);
    HG_Free_input(handle, &in);
    return ret == HG_SUCCESS ? HG_Destroy(handle) : ret;
}

static hg_return_t
refuse(hg_handle_t handle)
{
    (void) handle;
    return HG_PERMISSION;
}

static hg_return_t
drop(hg_handle_t handle)
{
    hg_return_t ret = talaria_handle_drop(handle);

    return ret == HG_SUCCESS ? HG_Destroy(handle) : ret;
}

/* Transfers */

struct move {
    hg_handle_t handle;
    hg_bulk_t local;
    bool pull;
};

/* The memory of the last pull, kept for the next one. As Python's it is not the
 * library's own, which would be faster. One pull at a time. */
static void *kept;
static hg_size_t kept_size;

static hg_return_t
local_memory(
    hg_class_t *hg_class, hg_size_t size, bool pull, hg_bulk_t *local_p)
{
    if (!pull)
        return HG_Bulk_create(
            hg_class, 1, NULL, &size, HG_BULK_READWRITE, local_p);
    if (size > kept_size) {
        free(kept);
        kept = malloc(size);
        kept_size = kept ? size : 0;
        if (!kept)
            return HG_NOMEM;
    }
    return HG_Bulk_create(
        hg_class, 1, &kept, &size, HG_BULK_READWRITE, local_p);
}

static hg_return_t
moved(const struct hg_cb_info *info)
{
    struct move *move = info->arg;
    moved_t out = {.ret = (int32_t) info->ret, .size = info->info.bulk.size};
    uint8_t *memory = NULL;
    hg_size_t size = 0;

    HG_Bulk_access(move->local, 0, HG_Bulk_get_size(move->local),
        HG_BULK_READ_ONLY, 1, (void **) &memory, &size, NULL);
    if (move->pull && size > 0)
        out.size = (uint64_t) memory[0] << 8 | memory[size - 1];
    HG_Respond(move->handle, NULL, NULL, &out);
    HG_Destroy(move->handle);
    HG_Bulk_free(move->local);
    free(move);
    return HG_SUCCESS;
}

static hg_return_t
start(struct move *move, hg_bulk_t remote, uint8_t value)
{
    const struct hg_info *info = HG_Get_info(move->handle);
    hg_size_t size = HG_Bulk_get_size(remote);
    void *memory = NULL;
    hg_return_t ret =
        local_memory(info->hg_class, size, move->pull, &move->local);

    if (ret != HG_SUCCESS)
        return ret;
    if (!move->pull && HG_Bulk_access(move->local, 0, size, HG_BULK_READWRITE,
                           1, &memory, NULL, NULL) == HG_SUCCESS)
        memset(memory, value, size);
    ret = HG_Bulk_transfer(info->context, moved, move,
        move->pull ? HG_BULK_PULL : HG_BULK_PUSH, info->addr, remote, 0,
        move->local, 0, size, HG_OP_ID_IGNORE);
    if (ret != HG_SUCCESS)
        HG_Bulk_free(move->local);
    return ret;
}

/* pull: replies with the first and the last byte. Otherwise pushes a value. */
static hg_return_t
move_memory(hg_handle_t handle, bool pull)
{
    struct move *move = calloc(1, sizeof *move);
    memory_t in;
    hg_return_t ret = HG_NOMEM;

    if (!move)
        return ret;
    move->handle = handle;
    move->pull = pull;
    ret = HG_Get_input(handle, &in);
    if (ret == HG_SUCCESS) {
        ret = start(move, in.bulk, in.value);
        HG_Free_input(handle, &in);
    }
    if (ret != HG_SUCCESS)
        free(move);
    return ret;
}

static hg_return_t
ends(hg_handle_t handle)
{
    return move_memory(handle, true);
}

static hg_return_t
fill(hg_handle_t handle)
{
    return move_memory(handle, false);
}

int
main(int argc, char **argv)
{
    hg_class_t *hg_class = HG_Init(argc > 1 ? argv[1] : "na+sm", HG_TRUE);
    hg_context_t *context = HG_Context_create(hg_class);
    hg_addr_t self = HG_ADDR_NULL;
    char name[1024];
    hg_size_t size = sizeof name;

    if (!context || HG_Addr_self(hg_class, &self) != HG_SUCCESS ||
        HG_Addr_to_string(hg_class, name, &size, self) != HG_SUCCESS)
        return 1;
    HG_Addr_free(hg_class, self);
    MERCURY_REGISTER(hg_class, "sum", sum_in_t, sum_out_t, sum);
    MERCURY_REGISTER(hg_class, "types", types_t, types_t, types);
    MERCURY_REGISTER(hg_class, "echo", bytes_t, reply_t, echo);
    MERCURY_REGISTER(hg_class, "refuse", sum_in_t, sum_out_t, refuse);
    MERCURY_REGISTER(hg_class, "drop", sum_in_t, sum_out_t, drop);
    MERCURY_REGISTER(hg_class, "ends", memory_t, moved_t, ends);
    MERCURY_REGISTER(hg_class, "fill", memory_t, moved_t, fill);
    signal(SIGTERM, stop);
    printf("%s\n", name);
    fflush(stdout);
    while (!stopped) {
        HG_Progress(context, 100);
        HG_Trigger(context, 0, 16, NULL);
    }
    free(kept);
    return HG_Context_destroy(context) != HG_SUCCESS ||
           HG_Finalize(hg_class) != HG_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk transfers: the target pulls the origin's data and pushes them back. */
#include "run.h"
#include "talaria.h"
#include "workload_internal.h"

#include <stdlib.h>
#include <string.h>

#define SMALL 100U
#define LARGE ((size_t) 700000)
#define GAP ((size_t) 4096) /* gap between the two segments */
#define PIECE ((size_t) 300000)

/* back: 1 to push the data back, with each byte inverted. */
MERCURY_GEN_PROC(move_in_t, ((hg_bulk_t) (bulk))((uint32_t) (back)))

/* The target's part of a transfer: one at a time. */
static struct move {
    hg_handle_t handle; /* NULL: none active */
    move_in_t in;
    hg_bulk_t local;
    unsigned char memory[LARGE];
} move;

bool
workload_moving(void)
{
    return move.handle != HG_HANDLE_NULL;
}

static hg_return_t
moved(hg_return_t ret)
{
    int32_t code = (int32_t) ret;
    hg_handle_t handle = move.handle;

    HG_Bulk_free(move.local);
    HG_Free_input(handle, &move.in);
    move.local = HG_BULK_NULL;
    move.handle = HG_HANDLE_NULL;
    workload_respond(handle, &code);
    HG_Destroy(handle);
    return HG_SUCCESS;
}

static hg_return_t
on_pushed(const struct hg_cb_info *info)
{
    workload_called(info);
    return moved(info->ret);
}

static hg_return_t
on_pulled(const struct hg_cb_info *info)
{
    size_t size = HG_Bulk_get_size(move.in.bulk);
    hg_return_t ret = info->ret;

    workload_called(info);
    for (size_t i = 0; i < size && ret == HG_SUCCESS; i++) {
        if (move.memory[i] != (unsigned char) (i * 3)) {
            run_fail("pulled byte %zu differs", i);
            ret = HG_FAULT;
        }
        move.memory[i] = (unsigned char) ~move.memory[i];
    }
    if (ret == HG_SUCCESS && !move.in.back)
        return moved(HG_SUCCESS);
    if (ret == HG_SUCCESS)
        ret = workload_accepted(HG_Bulk_transfer(workload_current->target,
            on_pushed, NULL, HG_BULK_PUSH, HG_Get_info(move.handle)->addr,
            move.in.bulk, 0, move.local, 0, size, HG_OP_ID_IGNORE));
    return ret == HG_SUCCESS ? ret : moved(ret);
}

static hg_return_t
on_move(hg_handle_t handle)
{
    void *memory = move.memory;
    hg_size_t size;
    hg_return_t ret;

    if (move.handle) { /* left over from a call that was cancelled */
        HG_Destroy(handle);
        return HG_AGAIN;
    }
    ret = HG_Get_input(handle, &move.in);
    if (ret != HG_SUCCESS) {
        HG_Destroy(handle);
        return ret;
    }
    move.handle = handle;
    size = HG_Bulk_get_size(move.in.bulk);
    ret = HG_Bulk_create(workload_current->target_class, 1, &memory, &size,
        HG_BULK_READWRITE, &move.local);
    if (ret == HG_SUCCESS)
        ret = workload_accepted(HG_Bulk_transfer(workload_current->target,
            on_pulled, NULL, HG_BULK_PULL, HG_Get_info(handle)->addr,
            move.in.bulk, 0, move.local, 0, size, HG_OP_ID_IGNORE));
    return ret == HG_SUCCESS ? ret : moved(ret);
}

hg_id_t
workload_register_move(hg_class_t *hg_class)
{
    return MERCURY_REGISTER(hg_class, "move", move_in_t, int32_t, on_move);
}

/* Serialized and deserialized by the origin itself. */
static hg_return_t
copy_descriptor(hg_bulk_t bulk)
{
    char bytes[2000];
    hg_size_t size = HG_Bulk_get_serialize_size(bulk, 0);
    hg_bulk_t copy;
    hg_return_t ret = HG_Bulk_serialize(bytes, sizeof bytes, 0, bulk);

    if (ret != HG_SUCCESS)
        return ret;
    ret =
        HG_Bulk_deserialize(workload_current->origin_class, &copy, bytes, size);
    if (ret == HG_SUCCESS)
        HG_Bulk_free(copy);
    return ret;
}

static hg_return_t
call(move_in_t *in)
{
    struct workload *s = workload_current;
    struct workload_op op = {.called = 0};
    hg_handle_t handle;
    int32_t code;
    hg_return_t ret = HG_Create(s->origin, s->peer, s->move_id, &handle);

    if (ret != HG_SUCCESS)
        return ret;
    ret = workload_accepted(HG_Forward(handle, workload_called, &op, in));
    if (ret == HG_SUCCESS)
        ret = workload_wait(&op, handle, HG_OP_ID_NULL);
    if (ret == HG_SUCCESS)
        ret = HG_Get_output(handle, &code);
    if (ret == HG_SUCCESS) {
        ret = (hg_return_t) code;
        HG_Free_output(handle, &code);
    }
    HG_Destroy(handle);
    return ret;
}

/* Transfers memory in segments. */
static hg_return_t
move_pieces(uint32_t count, void **pieces, hg_size_t *sizes, uint8_t flags)
{
    move_in_t in = {.back = flags == HG_BULK_READWRITE};
    hg_return_t ret = HG_Bulk_create(
        workload_current->origin_class, count, pieces, sizes, flags, &in.bulk);
    size_t at = 0;

    if (ret != HG_SUCCESS)
        return ret;
    for (uint32_t i = 0; i < count; i++)
        for (size_t j = 0; j < sizes[i]; j++)
            ((unsigned char *) pieces[i])[j] = (unsigned char) (at++ * 3);
    ret = copy_descriptor(in.bulk);
    if (ret == HG_SUCCESS)
        ret = call(&in);
    at = 0;
    for (uint32_t i = 0; i < count && ret == HG_SUCCESS && in.back; i++) {
        for (size_t j = 0; j < sizes[i]; j++, at++) {
            if (((unsigned char *) pieces[i])[j] != (unsigned char) ~(at * 3)) {
                run_fail("pushed byte %zu differs", at);
                ret = HG_FAULT;
                break;
            }
        }
    }
    HG_Bulk_free(in.bulk);
    return ret;
}

hg_return_t
workload_move_small(void)
{
    unsigned char memory[SMALL];
    void *pieces[1] = {memory};
    hg_size_t sizes[1] = {SMALL};

    return move_pieces(1, pieces, sizes, HG_BULK_READ_ONLY);
}

hg_return_t
workload_move_large(void)
{
    static unsigned char memory[LARGE + GAP];
    void *pieces[2] = {memory, memory + PIECE + GAP};
    hg_size_t sizes[2] = {PIECE, LARGE - PIECE};

    return move_pieces(2, pieces, sizes, HG_BULK_READWRITE);
}

/* Memory allocated by the library for the descriptor. */
hg_return_t
workload_move_allocated(void)
{
    hg_size_t size = PIECE, given;
    move_in_t in = {.back = 1};
    unsigned char *memory;
    void *piece;
    hg_return_t ret = HG_Bulk_create(workload_current->origin_class, 1, NULL,
        &size, HG_BULK_READWRITE, &in.bulk);

    if (ret != HG_SUCCESS)
        return ret;
    ret = HG_Bulk_access(
        in.bulk, 0, size, HG_BULK_READWRITE, 1, &piece, &given, NULL);
    memory = piece;
    for (size_t i = 0; i < size && ret == HG_SUCCESS; i++)
        memory[i] = (unsigned char) (i * 3);
    if (ret == HG_SUCCESS)
        ret = call(&in);
    for (size_t i = 0; i < size && ret == HG_SUCCESS; i++) {
        if (memory[i] != (unsigned char) ~(i * 3)) {
            run_fail("pushed byte %zu differs", i);
            ret = HG_FAULT;
        }
    }
    HG_Bulk_free(in.bulk);
    return ret;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving data between two descriptors. */
#include "bulk/op.h"

#include "base/log.h"
#include "na.h"
#include "na/mem.h"

#include <string.h>

/* The cursor at an offset into a descriptor. */
static struct bulk_cursor
cursor_at(const struct hg_bulk *bulk, hg_size_t offset)
{
    struct bulk_cursor cursor = {.bulk = bulk};

    while (cursor.part < bulk->part_count &&
           offset >= bulk->parts[cursor.part].size)
        offset -= bulk->parts[cursor.part++].size;
    cursor.offset = offset;
    return cursor;
}

static hg_size_t
cursor_left(const struct bulk_cursor *cursor)
{
    return cursor->bulk->parts[cursor->part].size - cursor->offset;
}

static void
cursor_advance(struct bulk_cursor *cursor, hg_size_t size)
{
    cursor->offset += size;
    if (cursor_left(cursor) == 0) {
        cursor->part++;
        cursor->offset = 0;
    }
}

/* Runs the user's callback. The transfer is free for the next one by then. */
static void
transfer_run(struct base_completion *completion)
{
    struct bulk_op *op = (struct bulk_op *) completion;
    struct bulk_context *context = op->context;
    struct hg_cb_info info = {
        .arg = op->arg, .type = HG_CB_BULK, .ret = op->ret};
    hg_cb_t callback = op->callback;
    struct hg_bulk *origin = op->origin, *local = op->local;
    struct hg_addr addr = op->addr;

    info.info.bulk.origin_handle = origin;
    info.info.bulk.local_handle = local;
    info.info.bulk.op = op->op;
    info.info.bulk.size = op->size;
    op->addr.addr = NULL;
    bulk_op_table_end(op);
    bulk_op_put(op);
    if (callback)
        callback(&info);
    HG_Bulk_free(origin);
    HG_Bulk_free(local);
    na_peer_release(&addr);
    /* Release pairs with the acquire of who waits for the context to be
     * idle. */
    atomic_fetch_sub_explicit(&context->op_count, 1, memory_order_release);
}

static void
finish(struct bulk_op *op)
{
    struct bulk_context *context = op->context;

    op->completion.run = transfer_run;
    base_completion_push(&context->completions, &op->completion);
    na_progress_notify(context->na_context->progress);
}

/* Lock held. */
static void
record(struct bulk_op *op, hg_return_t ret)
{
    if (ret == HG_SUCCESS || op->ret != HG_SUCCESS)
        return;
    op->ret = ret;
    op->left = 0;
}

/* Submits the next piece on a lane. Lock held. */
static int32_t
submit_piece(struct bulk_op *op, struct na_op *lane)
{
    struct na_class *na_class = op->addr.na_class;
    na_mem_handle_t *local = op->local->parts[op->local_at.part].mem;
    na_mem_handle_t *origin = op->origin->parts[op->origin_at.part].mem;
    hg_size_t local_offset = op->local_at.offset;
    hg_size_t origin_offset = op->origin_at.offset;
    hg_size_t size = op->left, max = na_class->opened.max_rma_size;
    na_plugin_ctx *ctx = op->context->na_context->plugin_ctx;

    if (cursor_left(&op->local_at) < size)
        size = cursor_left(&op->local_at);
    if (cursor_left(&op->origin_at) < size)
        size = cursor_left(&op->origin_at);
    if (max > 0 && max < size)
        size = max;
    cursor_advance(&op->local_at, size);
    cursor_advance(&op->origin_at, size);
    op->left -= size;
    if (op->op == HG_BULK_PULL)
        return na_class->ops.get(ctx, na_op_part(lane), local->mem,
            local_offset, origin->mem, origin_offset, size, op->addr.addr,
            op->origin_id);
    return na_class->ops.put(ctx, na_op_part(lane), local->mem, local_offset,
        origin->mem, origin_offset, size, op->addr.addr, op->origin_id);
}

static void lane_complete(struct na_op *lane, const na_plugin_event *event);

/* Submits pieces while there are any and lanes are free. Lock held. */
static void
submit_pieces(struct bulk_op *op)
{
    while (op->left > 0 && op->free_lanes != 0) {
        unsigned i = (unsigned) __builtin_ctz(op->free_lanes);
        int32_t code;

        op->lanes[i]->complete = lane_complete;
        op->free_lanes &= ~(1U << i);
        op->busy++;
        code = submit_piece(op, op->lanes[i]);
        if (code == NA_PLUGIN_PENDING)
            continue;
        op->free_lanes |= 1U << i;
        op->busy--;
        if (code < 0)
            record(op, (hg_return_t) na_code(code));
    }
}

static void
lane_complete(struct na_op *lane, const na_plugin_event *event)
{
    struct bulk_op *op = lane->owner;
    bool done;

    base_lock_acquire(&op->lock);
    for (unsigned i = 0; i < BULK_LANES; i++)
        if (op->lanes[i] == lane)
            op->free_lanes |= 1U << i;
    record(op, (hg_return_t) na_code(event->status));
    submit_pieces(op);
    done = --op->busy == 0;
    base_lock_release(&op->lock);
    if (done)
        finish(op);
}

/* Starts a transfer that has something to move. */
static void
start(struct bulk_op *op)
{
    bool done;

    base_lock_acquire(&op->lock);
    op->free_lanes = (1U << BULK_LANES) - 1;
    op->busy = 1;
    submit_pieces(op);
    done = --op->busy == 0;
    base_lock_release(&op->lock);
    if (done)
        finish(op);
}

/* Both descriptors are ours: a transfer to oneself is a copy. */
static void
copy_local(const struct hg_bulk *from, hg_size_t from_offset,
    const struct hg_bulk *to, hg_size_t to_offset, hg_size_t size)
{
    uint32_t f = 0, t = 0;

    while (from_offset >= from->segments[f].len)
        from_offset -= from->segments[f++].len;
    while (to_offset >= to->segments[t].len)
        to_offset -= to->segments[t++].len;
    while (size > 0) {
        hg_size_t length = size;

        if (from->segments[f].len - from_offset < length)
            length = from->segments[f].len - from_offset;
        if (to->segments[t].len - to_offset < length)
            length = to->segments[t].len - to_offset;
        memmove((char *) to->segments[t].base + to_offset,
            (const char *) from->segments[f].base + from_offset, length);
        size -= length;
        from_offset += length;
        to_offset += length;
        /* Empty segments are stepped over as well. */
        while (size > 0 && from_offset == from->segments[f].len) {
            f++;
            from_offset = 0;
        }
        while (size > 0 && to_offset == to->segments[t].len) {
            t++;
            to_offset = 0;
        }
    }
}

static bool
is_self(const struct hg_addr *addr)
{
    return NA_Addr_is_self(addr->na_class, (na_addr_t *) addr->addr);
}

static hg_return_t
check(hg_bulk_op_t op, const struct hg_addr *addr, const struct hg_bulk *origin,
    hg_size_t origin_offset, const struct hg_bulk *local,
    hg_size_t local_offset, hg_size_t size)
{
    uint8_t origin_needs =
        op == HG_BULK_PULL ? HG_BULK_READ_ONLY : HG_BULK_WRITE_ONLY;
    uint8_t local_needs =
        op == HG_BULK_PULL ? HG_BULK_WRITE_ONLY : HG_BULK_READ_ONLY;

    if (!addr || !addr->addr || !origin || !local || local->remote ||
        (op != HG_BULK_PULL && op != HG_BULK_PUSH) ||
        origin->bulk_class != local->bulk_class ||
        addr->na_class != local->bulk_class->na_class)
        return HG_INVALID_ARG;
    if (origin_offset > origin->size || size > origin->size - origin_offset ||
        local_offset > local->size || size > local->size - local_offset) {
        LOG_ERROR(BULK,
            "transfer of %llu bytes from %llu, %llu is beyond a descriptor "
            "of %llu or %llu bytes",
            (unsigned long long) size, (unsigned long long) origin_offset,
            (unsigned long long) local_offset,
            (unsigned long long) origin->size,
            (unsigned long long) local->size);
        return HG_INVALID_ARG;
    }
    if (!(origin->flags & origin_needs) || !(local->flags & local_needs)) {
        LOG_ERROR(BULK, "descriptors with flags %u and %u do not allow a %s",
            origin->flags, local->flags, op == HG_BULK_PULL ? "pull" : "push");
        return HG_PERMISSION;
    }
    /* A descriptor that was not deserialized is this process's own. */
    if (!origin->remote && !is_self(addr))
        return HG_INVALID_ARG;
    return HG_SUCCESS;
}

static void
transfer_local(
    struct bulk_op *op, hg_size_t origin_offset, hg_size_t local_offset)
{
    if (op->size > 0 && op->op == HG_BULK_PULL)
        copy_local(
            op->origin, origin_offset, op->local, local_offset, op->size);
    else if (op->size > 0)
        copy_local(
            op->local, local_offset, op->origin, origin_offset, op->size);
    finish(op);
}

hg_return_t
HG_Bulk_transfer_id(hg_context_t *context, hg_cb_t callback, void *arg,
    hg_bulk_op_t op, hg_addr_t origin_addr, uint8_t origin_id,
    hg_bulk_t origin_handle, hg_size_t origin_offset, hg_bulk_t local_handle,
    hg_size_t local_offset, hg_size_t size, hg_op_id_t *op_id)
{
    struct bulk_op *transfer;
    hg_op_id_t id;
    hg_return_t ret;

    if (!context || !local_handle ||
        bulk_context_of(context)->bulk_class != local_handle->bulk_class)
        return HG_INVALID_ARG;
    ret = check(op, origin_addr, origin_handle, origin_offset, local_handle,
        local_offset, size);
    if (ret != HG_SUCCESS)
        return ret;
    transfer = bulk_op_get(bulk_context_of(context));
    if (!transfer)
        return HG_NOMEM;
    HG_Bulk_ref_incr(origin_handle);
    HG_Bulk_ref_incr(local_handle);
    na_peer_copy(&transfer->addr, origin_addr);
    transfer->callback = callback;
    transfer->arg = arg;
    transfer->op = op;
    transfer->origin = origin_handle;
    transfer->local = local_handle;
    transfer->origin_id = origin_id;
    transfer->size = transfer->left = size;
    transfer->ret = HG_SUCCESS;
    id = bulk_op_table_begin(transfer);
    if (op_id && op_id != HG_OP_ID_IGNORE)
        *op_id = id;
    if (!origin_handle->remote) {
        transfer_local(transfer, origin_offset, local_offset);
        return HG_SUCCESS;
    }
    transfer->origin_at = cursor_at(origin_handle, origin_offset);
    transfer->local_at = cursor_at(local_handle, local_offset);
    start(transfer);
    return HG_SUCCESS;
}

hg_return_t
HG_Bulk_transfer(hg_context_t *context, hg_cb_t callback, void *arg,
    hg_bulk_op_t op, hg_addr_t origin_addr, hg_bulk_t origin_handle,
    hg_size_t origin_offset, hg_bulk_t local_handle, hg_size_t local_offset,
    hg_size_t size, hg_op_id_t *op_id)
{
    return HG_Bulk_transfer_id(context, callback, arg, op, origin_addr, 0,
        origin_handle, origin_offset, local_handle, local_offset, size, op_id);
}

hg_return_t
HG_Bulk_bind_transfer(hg_context_t *context, hg_cb_t callback, void *arg,
    hg_bulk_op_t op, hg_bulk_t origin_handle, hg_size_t origin_offset,
    hg_bulk_t local_handle, hg_size_t local_offset, hg_size_t size,
    hg_op_id_t *op_id)
{
    return HG_Bulk_transfer_id(context, callback, arg, op,
        HG_Bulk_get_addr(origin_handle), HG_Bulk_get_context_id(origin_handle),
        origin_handle, origin_offset, local_handle, local_offset, size, op_id);
}

/* Progress and table locks held: no lane's event is handled meanwhile. */
static void
cancel(struct bulk_op *op)
{
    struct na_context *na_context = op->context->na_context;

    base_lock_acquire(&op->lock);
    if (op->busy > 0)
        record(op, HG_CANCELED);
    base_lock_release(&op->lock);
    for (unsigned i = 0; i < BULK_LANES; i++)
        na_context->na_class->ops.cancel(
            na_context->plugin_ctx, na_op_part(op->lanes[i]));
}

hg_return_t
HG_Bulk_cancel(hg_op_id_t op_id)
{
    if (!op_id || op_id == (hg_op_id_t) HG_OP_ID_IGNORE)
        return HG_INVALID_ARG;
    bulk_op_table_cancel(op_id, cancel);
    return HG_SUCCESS;
}

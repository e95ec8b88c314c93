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

static void
leave(struct bulk_context *context)
{
    /* Release pairs with the acquire of who waits for the context to be
     * idle. */
    atomic_fetch_sub_explicit(&context->op_count, 1, memory_order_release);
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
    leave(context);
}

/* Ends a transfer of the core's own: how it went. Its context stays until it
 * is left. */
static hg_return_t
internal_end(struct bulk_op *op)
{
    struct hg_bulk *origin = op->origin, *local = op->local;
    struct hg_addr addr = op->addr;
    hg_return_t ret = op->ret;

    op->addr.addr = NULL;
    bulk_op_table_end(op);
    bulk_op_put(op);
    HG_Bulk_free(origin);
    HG_Bulk_free(local);
    na_peer_release(&addr);
    return ret;
}

/* In progress, or where the transfer was started. */
static void
finish(struct bulk_op *op)
{
    struct bulk_context *context = op->context;

    op->completion.run = transfer_run;
    base_completion_push(&context->completions, &op->completion);
    na_progress_notify(context->na_context->progress);
}

/* In progress only. */
static void
finish_internal(struct bulk_op *op)
{
    struct bulk_context *context = op->context;
    void (*done)(void *arg, hg_return_t ret) = op->done;
    void *arg = op->arg;

    done(arg, internal_end(op));
    leave(context);
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
    if (done && op->done)
        finish_internal(op);
    else if (done)
        finish(op);
}

/* Starts a transfer that has something to move. true: it is over. */
static bool
start_remote(struct bulk_op *op)
{
    bool done;

    base_lock_acquire(&op->lock);
    op->free_lanes = (1U << BULK_LANES) - 1;
    op->busy = 1;
    submit_pieces(op);
    done = --op->busy == 0;
    base_lock_release(&op->lock);
    return done;
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

static bool
in_range(const struct hg_bulk *bulk, hg_size_t offset, hg_size_t size)
{
    return offset <= bulk->size && size <= bulk->size - offset;
}

static hg_return_t
check(const struct bulk_context *context, const struct bulk_request *request)
{
    const struct hg_bulk *origin = request->origin, *local = request->local;
    const struct hg_addr *addr = request->addr;
    bool pull = request->op == HG_BULK_PULL;

    if (!context || !addr || !addr->addr || !origin || !local ||
        local->remote || (!pull && request->op != HG_BULK_PUSH) ||
        local->bulk_class != context->bulk_class ||
        origin->bulk_class != context->bulk_class ||
        addr->na_class != context->bulk_class->na_class)
        return HG_INVALID_ARG;
    if (!in_range(origin, request->origin_offset, request->size) ||
        !in_range(local, request->local_offset, request->size)) {
        LOG_ERROR(BULK,
            "transfer of %llu bytes from %llu, %llu is beyond a descriptor "
            "of %llu or %llu bytes",
            (unsigned long long) request->size,
            (unsigned long long) request->origin_offset,
            (unsigned long long) request->local_offset,
            (unsigned long long) origin->size,
            (unsigned long long) local->size);
        return HG_INVALID_ARG;
    }
    if (!(origin->flags & (pull ? HG_BULK_READ_ONLY : HG_BULK_WRITE_ONLY)) ||
        !(local->flags & (pull ? HG_BULK_WRITE_ONLY : HG_BULK_READ_ONLY))) {
        LOG_ERROR(BULK, "descriptors with flags %u and %u do not allow a %s",
            origin->flags, local->flags, pull ? "pull" : "push");
        return HG_PERMISSION;
    }
    /* A descriptor that was not deserialized is this process's own. */
    if (!origin->remote && !is_self(addr))
        return HG_INVALID_ARG;
    return HG_SUCCESS;
}

/* Takes a transfer that holds what it will need. */
static hg_return_t
prepare(struct bulk_context *context, const struct bulk_request *request,
    struct bulk_op **op_p)
{
    hg_return_t ret = check(context, request);
    struct bulk_op *op;

    if (ret != HG_SUCCESS)
        return ret;
    op = bulk_op_get(context);
    if (!op)
        return HG_NOMEM;
    HG_Bulk_ref_incr(request->origin);
    HG_Bulk_ref_incr(request->local);
    na_peer_copy(&op->addr, request->addr);
    op->op = request->op;
    op->origin = request->origin;
    op->local = request->local;
    op->origin_id = request->origin_id;
    op->size = op->left = request->size;
    op->ret = HG_SUCCESS;
    *op_p = op;
    return HG_SUCCESS;
}

/* true: it is over. */
static bool
start(struct bulk_op *op, const struct bulk_request *request)
{
    if (op->origin->remote) {
        op->origin_at = cursor_at(op->origin, request->origin_offset);
        op->local_at = cursor_at(op->local, request->local_offset);
        return start_remote(op);
    }
    if (op->size > 0 && op->op == HG_BULK_PULL)
        copy_local(op->origin, request->origin_offset, op->local,
            request->local_offset, op->size);
    else if (op->size > 0)
        copy_local(op->local, request->local_offset, op->origin,
            request->origin_offset, op->size);
    return true;
}

hg_return_t
bulk_transfer_internal(struct bulk_context *context,
    const struct bulk_request *request,
    void (*done)(void *arg, hg_return_t ret), void *arg, hg_op_id_t *id_p,
    bool *pending_p)
{
    struct bulk_op *op;
    hg_op_id_t id;
    hg_return_t ret;

    *pending_p = false;
    ret = prepare(context, request, &op);
    if (ret != HG_SUCCESS)
        return ret;
    op->done = done;
    op->arg = arg;
    id = bulk_op_table_begin(op);
    if (id_p)
        *id_p = id;
    if (!start(op, request)) {
        *pending_p = true;
        return HG_SUCCESS;
    }
    ret = internal_end(op);
    leave(context);
    return ret;
}

static void
count(struct bulk_class *bulk_class)
{
    if (__builtin_expect(bulk_class->stats, 0))
        atomic_fetch_add_explicit(
            &bulk_class->transfer_count, 1, memory_order_relaxed);
}

hg_return_t
HG_Bulk_transfer_id(hg_context_t *context, hg_cb_t callback, void *arg,
    hg_bulk_op_t op, hg_addr_t origin_addr, uint8_t origin_id,
    hg_bulk_t origin_handle, hg_size_t origin_offset, hg_bulk_t local_handle,
    hg_size_t local_offset, hg_size_t size, hg_op_id_t *op_id)
{
    const struct bulk_request request = {.op = op,
        .origin_id = origin_id,
        .addr = origin_addr,
        .origin = origin_handle,
        .origin_offset = origin_offset,
        .local = local_handle,
        .local_offset = local_offset,
        .size = size};
    struct bulk_op *transfer;
    hg_op_id_t id;
    hg_return_t ret;

    ret = prepare(bulk_context_of(context), &request, &transfer);
    if (ret != HG_SUCCESS)
        return ret;
    transfer->callback = callback;
    transfer->done = NULL;
    transfer->arg = arg;
    id = bulk_op_table_begin(transfer);
    if (op_id && op_id != HG_OP_ID_IGNORE)
        *op_id = id;
    count(transfer->context->bulk_class);
    if (start(transfer, &request))
        finish(transfer);
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

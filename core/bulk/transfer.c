/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers between two descriptors. */
#include "bulk/op.h"
#include "na/progress.h"

#include "base/log.h"
#include "base/watch.h"
#include "na.h"
#include "na/violation.h"
#include "rt/submit.h"

/* Returns the cursor at an offset below the descriptor's size. */
static struct bulk_cursor
cursor_at(const struct bulk_side *side, hg_size_t offset)
{
    struct bulk_cursor cursor = {.part = side->parts};

    while (offset >= cursor.part->size) {
        offset -= cursor.part->size;
        cursor.part++;
    }
    cursor.offset = offset;
    return cursor;
}

static hg_size_t
cursor_left(const struct bulk_cursor *cursor)
{
    return cursor->part->size - cursor->offset;
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
    /* Release pairs with the acquire in in_use (hg/api_context.c). */
    atomic_fetch_sub_explicit(&context->op_count, 1, memory_order_release);
}

/* Runs the user's callback. The transfer can be reused by then. */
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

/* Ends a transfer of the core and returns its result. The caller decrements
 * op_count. */
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

/* Called in progress, or where the transfer was started. */
static void
finish(struct bulk_op *op)
{
    struct bulk_context *context = op->context;

    op->completion.run = transfer_run;
    base_completion_push(&op->completion, &context->completions);
    na_progress_notify(context->na_context->progress);
}

/* Called in progress only. */
static void
finish_internal(struct bulk_op *op)
{
    struct bulk_context *context = op->context;
    void (*done)(void *arg, hg_return_t ret) = op->done;
    void *arg = op->arg;

    done(arg, internal_end(op));
    leave(context);
}

/* Called under the lock. */
static void
record(struct bulk_op *op, hg_return_t ret)
{
    if (ret == HG_SUCCESS || op->ret != HG_SUCCESS)
        return;
    op->ret = ret;
    op->left = 0;
}

/* Submits the next piece with a free operation. Called under the lock. */
static int32_t
submit_piece(struct bulk_op *op, struct na_op *piece)
{
    const struct na_class *na_class = op->addr.na_class;
    struct rt_endpoint at = rt_endpoint(op->na_context);
    na_plugin_mem *local = op->local_at.part->mem;
    na_plugin_mem *origin = op->origin_at.part->mem;
    hg_size_t local_offset = op->local_at.offset;
    hg_size_t origin_offset = op->origin_at.offset;
    hg_size_t size = op->left, max = na_class->opened.max_rma_size;

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
        return rt_get(at, piece, local, local_offset, origin, origin_offset,
            size, op->addr.addr, op->origin_id);
    return rt_put(at, piece, local, local_offset, origin, origin_offset, size,
        op->addr.addr, op->origin_id);
}

static void piece_complete(struct na_op *piece, const na_plugin_event *event);

/* Submits pieces while there are bytes and free operations. Called under the
 * lock. */
static void
submit_pieces(struct bulk_op *op)
{
    while (op->left > 0 && op->idle_ops != 0) {
        unsigned i = (unsigned) __builtin_ctz(op->idle_ops);
        int32_t code;

        op->na_ops[i]->complete = piece_complete;
        op->idle_ops &= ~(1U << i);
        op->busy++;
        code = submit_piece(op, op->na_ops[i]);
        if (code == NA_PLUGIN_PENDING)
            continue;
        op->idle_ops |= 1U << i;
        op->busy--;
        if (code != NA_PLUGIN_DONE)
            record(op, (hg_return_t) na_submission_failed(op->na_context,
                           op->op == HG_BULK_PULL ? "get" : "put", code));
    }
}

static void
piece_complete(struct na_op *piece, const na_plugin_event *event)
{
    struct bulk_op *op = piece->owner;
    bool done;

    base_lock_acquire(&op->lock);
    for (unsigned i = 0; i < BULK_IN_FLIGHT; i++)
        if (op->na_ops[i] == piece)
            op->idle_ops |= 1U << i;
    record(op, (hg_return_t) na_event_code(op->na_context, event));
    submit_pieces(op);
    done = --op->busy == 0;
    base_lock_release(&op->lock);
    if (done && op->done)
        finish_internal(op);
    else if (done)
        finish(op);
}

void
bulk_transfer_fail(struct bulk_op *op)
{
    bool done = false;

    base_lock_acquire(&op->lock);
    if (op->busy > 0) {
        uint32_t ops = ~op->idle_ops & ((1U << BULK_IN_FLIGHT) - 1);

        record(op, HG_IO_ERROR);
        op->idle_ops |= ops;
        op->busy -= (uint32_t) __builtin_popcount(ops);
        done = op->busy == 0;
    }
    base_lock_release(&op->lock);
    if (done && op->done)
        finish_internal(op);
    else if (done)
        finish(op);
}

/* Starts a transfer that needs a transport. Returns true if it has completed.
 */
static bool
start_remote(struct bulk_op *op)
{
    bool done;

    base_lock_acquire(&op->lock);
    op->idle_ops = (1U << BULK_IN_FLIGHT) - 1;
    op->busy = 1;
    submit_pieces(op);
    done = --op->busy == 0;
    base_lock_release(&op->lock);
    return done;
}

static bool
is_self(const struct hg_addr *addr)
{
    return addr->self ||
           NA_Addr_is_self(addr->na_class, (na_addr_t *) addr->addr);
}

static hg_return_t
check_range(const struct hg_bulk *bulk, hg_size_t offset, hg_size_t size)
{
    if (offset <= bulk->size && size <= bulk->size - offset)
        return HG_SUCCESS;
    LOG_ERROR(BULK,
        "transfer of %llu bytes at %llu exceeds a descriptor of %llu "
        "bytes",
        (unsigned long long) size, (unsigned long long) offset,
        (unsigned long long) bulk->size);
    return HG_INVALID_ARG;
}

/* source: the data are read from this descriptor. */
static hg_return_t
check_flags(const struct hg_bulk *bulk, bool source)
{
    if (bulk->flags & (source ? HG_BULK_READ_ONLY : HG_BULK_WRITE_ONLY))
        return HG_SUCCESS;
    LOG_ERROR(BULK, "a descriptor with flags %u does not allow to %s",
        bulk->flags, source ? "read" : "write");
    return HG_PERMISSION;
}

static hg_return_t
check_use(const struct bulk_request *request, const struct hg_bulk *origin)
{
    bool pull = request->op == HG_BULK_PULL;
    hg_return_t ret =
        check_range(origin, request->origin_offset, request->size);

    if (ret == HG_SUCCESS)
        ret = check_range(request->local, request->local_offset, request->size);
    if (ret == HG_SUCCESS)
        ret = check_flags(origin, pull);
    return ret == HG_SUCCESS ? check_flags(request->local, !pull) : ret;
}

static hg_return_t
check(const struct bulk_context *context, const struct bulk_request *request)
{
    const struct hg_bulk *origin = request->origin, *local = request->local;
    const struct hg_addr *addr = request->addr;

    if (!context || !addr || !addr->addr || !origin || !local ||
        local->remote ||
        (request->op != HG_BULK_PULL && request->op != HG_BULK_PUSH) ||
        local->bulk_class != context->bulk_class ||
        origin->bulk_class != context->bulk_class ||
        (addr->na_class != context->bulk_class->na_class &&
            addr->na_class != context->bulk_class->sm_class))
        return HG_INVALID_ARG;
    return check_use(request, origin);
}

static bool
usable(const struct bulk_request *request, unsigned side)
{
    return request->size == 0 || (request->origin->sides[side].usable &&
                                     request->local->sides[side].usable);
}

/* Finds the transport of an address and the address to use. If it can't
 * transfer the data, the main transport, and the address of the descriptor for
 * it. */
static hg_return_t
find_side(const struct bulk_request *request, unsigned *side_p,
    const struct hg_addr **addr_p)
{
    const struct hg_addr *addr = request->addr;
    const struct hg_addr *other = &request->origin->sides[RT_MAIN].addr;
    unsigned side = addr->na_class == request->local->bulk_class->na_class
                        ? RT_MAIN
                        : RT_LOCAL;

    if (!usable(request, side) && usable(request, RT_MAIN) && other->addr) {
        side = RT_MAIN;
        addr = other;
    }
    if (!usable(request, side)) {
        LOG_ERROR(BULK, "the %s descriptor is not registered with %s+%s",
            request->local->sides[side].usable ? "origin's" : "local",
            addr->na_class->plugin->name, addr->na_class->protocol);
        return HG_OPNOTSUPPORTED;
    }
    *side_p = side;
    *addr_p = addr;
    return HG_SUCCESS;
}

/* Finds the memory if it is in this process, with a reference: a local
 * descriptor, one with eager data, or the original of a descriptor that was
 * sent back. NULL: the transport transfers it. */
static __attribute__((noinline)) hg_return_t
find_memory(const struct bulk_request *request, struct hg_bulk **memory_p)
{
    struct hg_bulk *origin = request->origin;
    bool device;
    hg_return_t ret;

    if (!origin->data && !is_self(request->addr))
        return origin->remote ? HG_SUCCESS : HG_INVALID_ARG;
    if (origin->remote && !origin->data) {
        origin = bulk_owned_find(origin->bulk_class,
            atomic_load_explicit(&origin->number, memory_order_relaxed));
        if (!origin) {
            LOG_ERROR(BULK, "descriptor of this process was freed before the "
                            "transfer");
            return HG_NOENTRY;
        }
    } else {
        HG_Bulk_ref_incr(origin);
    }
    device = origin->device || request->local->device;
    ret = check_use(request, origin);
    if (ret == HG_SUCCESS && device && origin == request->origin)
        ret = HG_OPNOTSUPPORTED;
    if (ret == HG_SUCCESS && !device)
        *memory_p = origin;
    else
        HG_Bulk_free(origin);
    return ret;
}

/* Returns whether the data may be in this process. */
static inline bool
may_be_here(const struct hg_bulk *origin)
{
    return __builtin_expect(
        !origin->remote || origin->data ||
            (origin->owner != 0 &&
                origin->owner == bulk_owner(origin->bulk_class)),
        0);
}

/* Gets a transfer with references to all it needs. *memory_p: as of
 * find_memory, if the memory may be in this process. */
static hg_return_t
prepare(struct bulk_context *context, const struct bulk_request *request,
    struct bulk_op **op_p, struct hg_bulk **memory_p)
{
    hg_return_t ret = check(context, request);
    const struct hg_addr *addr = request->addr;
    unsigned side = RT_MAIN;
    struct bulk_op *op;

    *memory_p = NULL;
    if (ret == HG_SUCCESS && may_be_here(request->origin))
        ret = find_memory(request, memory_p);
    if (ret == HG_SUCCESS && !*memory_p)
        ret = find_side(request, &side, &addr);
    if (ret != HG_SUCCESS)
        return ret;
    op = bulk_op_get(context, side);
    if (!op) {
        HG_Bulk_free(*memory_p);
        return HG_NOMEM;
    }
    HG_Bulk_ref_incr(request->origin);
    HG_Bulk_ref_incr(request->local);
    na_peer_copy(&op->addr, addr);
    op->op = request->op;
    op->origin = request->origin;
    op->local = request->local;
    op->origin_id = request->origin_id;
    op->size = op->left = request->size;
    op->ret = HG_SUCCESS;
    *op_p = op;
    return HG_SUCCESS;
}

/* Takes over the reference to memory (find_memory). Returns true if the
 * transfer has completed. */
static bool
start(struct bulk_op *op, const struct bulk_request *request,
    struct hg_bulk *memory)
{
    if (!memory) {
        if (op->size > 0) {
            op->origin_at =
                cursor_at(&op->origin->sides[op->side], request->origin_offset);
            op->local_at =
                cursor_at(&op->local->sides[op->side], request->local_offset);
        }
        return start_remote(op);
    }
    if (op->op == HG_BULK_PULL)
        op->ret = bulk_copy(memory, request->origin_offset, op->local,
            request->local_offset, op->size);
    else
        op->ret = bulk_copy(op->local, request->local_offset, memory,
            request->origin_offset, op->size);
    HG_Bulk_free(memory);
    return true;
}

hg_return_t
bulk_transfer_internal(struct bulk_context *context,
    const struct bulk_request *request,
    void (*done)(void *arg, hg_return_t ret), void *arg, hg_op_id_t *id_p,
    bool *pending_p)
{
    struct hg_bulk *memory;
    struct bulk_op *op;
    hg_op_id_t id;
    hg_return_t ret;

    *pending_p = false;
    ret = prepare(context, request, &op, &memory);
    if (ret != HG_SUCCESS)
        return ret;
    op->done = done;
    op->arg = arg;
    id = bulk_op_table_begin(op);
    if (id_p)
        *id_p = id;
    if (!start(op, request, memory)) {
        *pending_p = true;
        return HG_SUCCESS;
    }
    ret = internal_end(op);
    leave(context);
    return ret;
}

/* Called while there is an observer. */
static __attribute__((cold, noinline)) void
count(const struct bulk_op *op)
{
    struct bulk_class *bulk_class = op->context->bulk_class;
    const struct base_watch *watch = base_watch_get();

    if (bulk_class->stats)
        atomic_fetch_add_explicit(
            &bulk_class->transfer_count, 1, memory_order_relaxed);
    if (watch)
        watch->bulk(op);
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
    struct hg_bulk *memory;
    struct bulk_op *transfer;
    hg_op_id_t id;
    hg_return_t ret;

    ret = prepare(bulk_context_of(context), &request, &transfer, &memory);
    if (ret != HG_SUCCESS)
        return ret;
    transfer->callback = callback;
    transfer->done = NULL;
    transfer->arg = arg;
    id = bulk_op_table_begin(transfer);
    if (op_id && op_id != HG_OP_ID_IGNORE)
        *op_id = id;
    if (__builtin_expect(base_is_observed(), 0))
        count(transfer);
    if (start(transfer, &request, memory))
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

/* Called under the locks of progress, of the table and of the transfer: no
 * event of it is handled, and it is not reused meanwhile. */
static void
cancel(struct bulk_op *op)
{
    if (op->busy > 0)
        record(op, HG_CANCELED);
    for (unsigned i = 0; i < BULK_IN_FLIGHT; i++)
        rt_cancel(op->na_context, op->na_ops[i]);
}

void
bulk_transfer_cancel(hg_op_id_t id)
{
    bulk_op_table_cancel_locked(id, cancel);
}

void
bulk_transfer_discard(hg_op_id_t id)
{
    struct bulk_op *op = bulk_op_table_find(id);

    if (op)
        internal_end(op);
}

hg_return_t
HG_Bulk_cancel(hg_op_id_t op_id)
{
    if (!op_id || op_id == (hg_op_id_t) HG_OP_ID_IGNORE)
        return HG_INVALID_ARG;
    bulk_op_table_cancel(op_id, cancel);
    return HG_SUCCESS;
}

/* Transfers remain on the list until the context is destroyed: iterating needs
 * no lock. */
void
bulk_context_fail(struct bulk_context *context, struct na_context *na_context)
{
    struct bulk_op *op;

    base_lock_acquire(&context->bulk_lock);
    op = LIST_FIRST(&context->all_ops);
    base_lock_release(&context->bulk_lock);
    for (; op; op = LIST_NEXT(op, all_next))
        if (op->na_context == na_context)
            bulk_transfer_fail(op);
}

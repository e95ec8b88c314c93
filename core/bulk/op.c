/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers of a context: creating, pooling and destroying them. */
#include "bulk/op.h"

#include "na.h"

#include <stdlib.h>

static struct bulk_op *
op_create(struct bulk_context *context, unsigned side)
{
    struct na_class *na_class = bulk_side_class(context->bulk_class, side);
    size_t size = sizeof(struct bulk_op), offsets[BULK_IN_FLIGHT];
    struct bulk_op *op;

    for (unsigned i = 0; i < BULK_IN_FLIGHT; i++)
        offsets[i] = na_op_layout(na_class, &size);
    op = na_op_block_alloc(size);
    if (!op)
        return NULL;
    op->context = context;
    op->side = side;
    op->na_context =
        side == RT_MAIN ? context->na_context : context->sm_context;
    base_lock_init(&op->lock, na_class->single_context);
    for (unsigned i = 0; i < BULK_IN_FLIGHT; i++) {
        op->na_ops[i] = (struct na_op *) ((char *) op + offsets[i]);
        op->na_ops[i]->owner = op;
    }
    if (bulk_op_table_add(op) != HG_SUCCESS) {
        free(op);
        return NULL;
    }
    base_lock_acquire(&context->bulk_lock);
    LIST_INSERT_HEAD(&context->all_ops, op, all_next);
    base_lock_release(&context->bulk_lock);
    return op;
}

void
bulk_op_destroy(struct bulk_op *op)
{
    bulk_op_table_remove(op);
    free(op);
}

struct bulk_op *
bulk_op_get(struct bulk_context *context, unsigned side)
{
    struct bulk_op *op;

    base_lock_acquire(&context->bulk_lock);
    op = LIST_FIRST(&context->free_ops[side]);
    if (op)
        LIST_REMOVE(op, next);
    base_lock_release(&context->bulk_lock);
    if (!op)
        op = op_create(context, side);
    if (op)
        atomic_fetch_add_explicit(&context->op_count, 1, memory_order_relaxed);
    return op;
}

void
bulk_op_put(struct bulk_op *op)
{
    struct bulk_context *context = op->context;

    base_lock_acquire(&context->bulk_lock);
    LIST_INSERT_HEAD(&context->free_ops[op->side], op, next);
    base_lock_release(&context->bulk_lock);
}

void
bulk_context_init(struct bulk_context *context, struct bulk_class *bulk_class,
    struct na_context *na_context)
{
    bool single = bulk_class->na_class->single_context;

    context->bulk_class = bulk_class;
    context->na_context = na_context;
    base_completion_queue_init(&context->completions, single);
    base_lock_init(&context->bulk_lock, single);
    for (unsigned side = 0; side < RT_TRANSPORTS; side++)
        LIST_INIT(&context->free_ops[side]);
    LIST_INIT(&context->all_ops);
    atomic_init(&context->op_count, 0);
}

void
bulk_context_finish(struct bulk_context *context)
{
    struct bulk_op *op;

    for (unsigned side = 0; side < RT_TRANSPORTS; side++)
        while ((op = LIST_FIRST(&context->free_ops[side])) != NULL) {
            LIST_REMOVE(op, next);
            bulk_op_destroy(op);
        }
}

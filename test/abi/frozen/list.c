/* SPDX-License-Identifier: BSD-3-Clause */
#include "frozen.h"

void
list_add(struct list *list, struct op *op)
{
    op->next = NULL;
    if (list->last != NULL)
        list->last->next = op;
    else
        list->first = op;
    list->last = op;
}

int
list_remove(struct list *list, const struct op *op)
{
    struct op *before = NULL;

    for (struct op *at = list->first; at != NULL; before = at, at = at->next) {
        if (at != op)
            continue;
        if (before != NULL)
            before->next = at->next;
        else
            list->first = at->next;
        if (list->last == at)
            list->last = before;
        return 1;
    }
    return 0;
}

struct op *
list_take(struct list *list)
{
    struct op *op = list->first;

    if (op != NULL)
        list_remove(list, op);
    return op;
}

void
op_end(na_plugin_ctx *ctx, struct op *op, int32_t status)
{
    if ((op->kind == PUT || op->kind == GET) && !op->waits)
        ctx->rma_out--;
    op->event.op = op;
    op->event.status = status;
    list_add(&ctx->ended, op);
}

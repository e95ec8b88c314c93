/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that wait in a context for a poll: a ring with room for those of all
 * pending operations. */
#include <stdlib.h>

#include "ctx.h"
#include "event.h"
#include "op.h"
#include "wake.h"

#define READY_FIRST 64U

static __attribute__((noinline)) bool
grow(na_plugin_ctx *ctx)
{
    uint32_t size = ctx->ready_size == 0 ? READY_FIRST : ctx->ready_size * 2;
    na_plugin_event *ready = malloc((size_t) size * sizeof(*ready));

    if (ready == NULL)
        return false;
    for (uint32_t i = 0; i < ctx->ready_count; i++)
        ready[i] = ctx->ready[(ctx->ready_first + i) & (ctx->ready_size - 1)];
    free(ctx->ready);
    ctx->ready = ready;
    ctx->ready_size = size;
    ctx->ready_first = 0;
    return true;
}

/* For one more event. */
static inline bool
make_room(na_plugin_ctx *ctx)
{
    return ctx->ready_count + ctx->promised < ctx->ready_size || grow(ctx);
}

bool
ofi_events_init(na_plugin_ctx *ctx)
{
    return grow(ctx);
}

int32_t
ofi_event_promise(na_plugin_ctx *ctx)
{
    if (!make_room(ctx))
        return NA_PLUGIN_E_NOMEM;
    ctx->promised++;
    return NA_PLUGIN_OK;
}

static void
append(na_plugin_ctx *ctx, const na_plugin_event *event)
{
    uint32_t index =
        (ctx->ready_first + ctx->ready_count++) & (ctx->ready_size - 1);
    ctx->ready[index] = *event;
    if (ctx->armed)
        ofi_wake_rouse(ctx);
}

void
ofi_event_emit(na_plugin_ctx *ctx, const na_plugin_event *event)
{
    struct ofi_op *op = event->op;

    op->state = OFI_OP_IDLE;
    ctx->promised--;
    append(ctx, event);
}

void
ofi_event_end(na_plugin_ctx *ctx, struct ofi_op *op, int32_t status)
{
    ofi_event_emit(ctx, &(na_plugin_event){.op = op, .status = status});
}

bool
ofi_event_emit_more(na_plugin_ctx *ctx, const na_plugin_event *event)
{
    if (!make_room(ctx))
        return false;
    append(ctx, event);
    return true;
}

uint32_t
ofi_event_take(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    uint32_t count = ctx->ready_count < max ? ctx->ready_count : max;

    for (uint32_t i = 0; i < count; i++)
        events[i] = ctx->ready[(ctx->ready_first + i) & (ctx->ready_size - 1)];
    ctx->ready_first = (ctx->ready_first + count) & (ctx->ready_size - 1);
    ctx->ready_count -= count;
    return count;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Wake-ups: for a sleeping peer, for a sleeping context. */
#include <sys/eventfd.h>

#include "socket.h"
#include "wake.h"

void
sm_wake_peer(na_plugin_class *cls, struct sm_conn *conn)
{
    sm_count_shared(&cls->counters.bells, 1);
    if (conn->fd >= 0)
        sm_socket_ring(conn->fd);
}

void
sm_wake_ctx(na_plugin_ctx *ctx)
{
    if (atomic_load_explicit(&ctx->armed, memory_order_relaxed) &&
        !ctx->bell_rung)
        ctx->bell_rung = eventfd_write(ctx->bell, 1) == 0;
}

void
sm_wake_ctx_unlocked(na_plugin_ctx *ctx)
{
    tp_lock_take(&ctx->lock);
    sm_wake_ctx(ctx);
    tp_lock_drop(&ctx->lock);
}

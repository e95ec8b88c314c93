/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A context of Talaria in a libuv loop. The loop sleeps on the context's event
 * descriptor: no thread of its own, and no processor time while idle. All of it
 * belongs to the loop's thread.
 */
#ifndef TALARIA_UV_H
#define TALARIA_UV_H

#include <mercury.h>
#include <uv.h>

#include <stdbool.h>

struct talaria_uv {
    hg_context_t *context;
    uv_prepare_t prepare; /* before each sleep of the loop */
    uv_idle_t idle;       /* while active, the loop does not sleep */
    uv_poll_t poll;       /* on the context's event descriptor */
    int open;             /* of these handles, those not closed yet */
    void (*failed)(struct talaria_uv *uv, hg_return_t ret);
    void (*stopped)(struct talaria_uv *uv);
    void *data; /* the caller's */
};

/* Runs the callbacks and RPC handlers of a context in the loop, from its next
 * iteration on. uv and context must stay valid until `stopped` was called.
 *
 * failed: the transport is lost (ret: the reason); nothing runs any more, and the
 *   caller stops uv.
 * Returns 0, or a libuv error: UV_ENOTSUP if the transport has no event
 * descriptor, otherwise that of uv_poll_init. On an error uv is not in use. */
int talaria_uv_start(struct talaria_uv *uv, uv_loop_t *loop,
    hg_context_t *context,
    void (*failed)(struct talaria_uv *uv, hg_return_t ret));

/* Leaves the loop. stopped: called from the loop when uv and the context may be
 * destroyed. */
void talaria_uv_stop(
    struct talaria_uv *uv, void (*stopped)(struct talaria_uv *uv));

#endif /* TALARIA_UV_H */

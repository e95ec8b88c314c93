/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving many requests in one buffer, on transports that support it. Handles
 * refer into the buffers. A buffer is posted again when the transport has
 * released it and no handle refers into it. A request that arrives while no
 * handle is free waits in its buffer. When handles in use keep all buffers from
 * the transport, another buffer is created as soon as a handle is free, or a
 * handle is created: requests that are kept for long don't block others. */
#ifndef HG_MULTI_RECV_H
#define HG_MULTI_RECV_H

#include "base/completion.h"
#include "mercury_types.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct hg_context;
struct hg_handle;
struct hg_multi_buffer;
struct hg_port;

/* A request that waits for a handle. */
struct hg_multi_message;

/* The state of a port that uses it. */
struct hg_multi {
    struct base_completion refill; /* creates handles, in HG_Trigger */
    _Atomic bool refilling;        /* refill is queued */
    struct hg_context *context;
    struct hg_port *port;
    uint32_t wanted;                         /* buffers to keep posted */
    uint32_t copy_threshold;                 /* see hg_init_info */
    _Atomic uint32_t posted;                 /* buffers posted */
    SLIST_HEAD(, hg_handle) free_handles;    /* under pool_lock */
    uint32_t free_count;                     /* under pool_lock */
    STAILQ_HEAD(, hg_multi_message) waiting; /* under pool_lock */
    /* New ones are inserted first, under the progress lock; read without it. */
    _Atomic(struct hg_multi_buffer *) buffers;
};

/* Creates the buffers of a port and posts them. */
hg_return_t hg_multi_open(struct hg_context *context, struct hg_port *port);

/* Frees the buffers after the transport's context was destroyed. NULL is
 * allowed. */
void hg_multi_close(struct hg_multi *multi);

/* The function `released` of a side: the handle is free for another request. */
void hg_multi_released(struct hg_handle *handle);

/* Releases the part of a buffer that a handle refers to. */
void hg_multi_release(struct hg_handle *handle);

/* Returns whether a queue entry is the one that creates handles. */
bool hg_multi_is_refill(const struct base_completion *completion);

#endif /* HG_MULTI_RECV_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving many requests in one buffer, where the transport does that. Handles
 * refer into the buffers; a buffer is posted again when the transport has given
 * it back and no handle refers into it. What comes while no handle is free
 * waits in its buffer. When each buffer is kept from the transport by handles
 * that are in use, another buffer is made, as soon as there is a free handle, and
 * if there is none, handles before that: requests that are kept for long never
 * stop the others.
 */
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

/* What came, and waits for a handle. */
struct hg_multi_message;

/* Of a port that receives so. */
struct hg_multi {
    struct base_completion feeder; /* makes handles, in HG_Trigger */
    _Atomic bool feeding;          /* it is queued */
    struct hg_context *context;
    struct hg_port *port;
    uint32_t wanted;         /* buffers that the transport should have */
    uint32_t copy_threshold; /* see hg_init_info */
    _Atomic uint32_t posted; /* buffers that the transport has */
    SLIST_HEAD(, hg_handle) free_handles;    /* under pool_lock */
    uint32_t free_count;                     /* likewise */
    STAILQ_HEAD(, hg_multi_message) waiting; /* likewise */
    /* Grows at the front, under the lock of progress; read without. */
    _Atomic(struct hg_multi_buffer *) buffers;
};

/* Makes the buffers of a port and posts them. */
hg_return_t hg_multi_open(struct hg_context *context, struct hg_port *port);

/* The transport's context is gone. NULL is allowed. */
void hg_multi_close(struct hg_multi *multi);

/* released of a side: the handle is free for another message. */
void hg_multi_released(struct hg_handle *handle);

/* Gives back what a handle refers to, before it is free. */
void hg_multi_release(struct hg_handle *handle);

/* Whether an entry of the queue is one that makes handles. */
bool hg_multi_is_feeder(const struct base_completion *completion);

#endif /* HG_MULTI_RECV_H */

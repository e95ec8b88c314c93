/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of the NA interface: what NA_Op_create returns. From submission to
 * the end of its callback an operation is counted in its context.
 */
#ifndef NA_OP_ID_H
#define NA_OP_ID_H

#include "base/completion.h"
#include "na/op.h"
#include "na_types.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

/* One callback to be run. A multi-receive needs one per message, so that this
 * is apart from the operation. */
struct na_result {
    struct base_completion completion;
    struct na_op_id *op_id;
    na_return_t ret;
    na_plugin_event event;
};

enum na_op_state { NA_OP_IDLE, NA_OP_PENDING, NA_OP_DESTROYED };

struct na_op_id {
    struct na_class *na_class;
    LIST_ENTRY(na_op_id) next; /* in the class's op_ids */
    /* While it is pending, else NULL. */
    struct na_context *_Atomic context;
    struct na_context *orphan_of; /* a dead one that may still know it */
    na_cb_t callback;
    void *arg;
    na_cb_type_t type;
    bool multi;
    _Atomic int state;     /* enum na_op_state */
    _Atomic bool reported; /* its end is queued */
    const void *buffer;    /* of a message, */
    uint64_t room;         /* its bytes, */
    void *buffer_data;     /* what the plugin wants back with it, */
    bool free_buffer;      /* and that the user has freed it: ops_lock */
    struct na_result last; /* of the final event */
    struct na_op *op;
};

/* Marks an operation as submitted, before it is. BUSY: it is pending. */
na_return_t na_op_id_begin(struct na_op_id *op_id, struct na_context *context,
    na_cb_type_t type, na_cb_t callback, void *arg);

/* What a submission returned: takes the mark back on error, queues the callback
 * when the operation is done already. */
na_return_t na_op_id_submitted(struct na_op_id *op_id,
    struct na_context *context, const char *entry, int32_t code);

/* na_op_id_begin for a message, with its buffer. */
na_return_t na_op_id_begin_message(struct na_op_id *op_id,
    struct na_context *context, na_cb_type_t type, na_cb_t callback, void *arg,
    const void *buffer, uint64_t room);

/* true: an operation that was destroyed while pending still uses the buffer,
 * which is freed when it has ended. */
bool na_op_ids_keep_buffer(
    struct na_class *na_class, const void *buffer, void *buffer_data);

/* How many operations of the context were destroyed while pending, and have not
 * been reported. */
uint32_t na_op_ids_destroyed(struct na_context *context);

/* Completes what is pending on a dead context with IO_ERROR; such operations can
 * only be destroyed. Lock of progress held. */
void na_op_ids_fail(struct na_context *context);

/* Frees all of the context that was destroyed while the plugin knew it: the
 * plugin's context is gone. */
void na_op_ids_free_destroyed(struct na_context *context);

#endif /* NA_OP_ID_H */

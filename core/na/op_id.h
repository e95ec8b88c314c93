/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of the NA interface: the objects of NA_Op_create. A context counts
 * an operation from its submission until its callback has returned.
 */
#ifndef NA_OP_ID_H
#define NA_OP_ID_H

#include "base/completion.h"
#include "na/op.h"
#include "na_types.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

/* One callback to run. Separate from the operation, since a multi-receive needs
 * one for each message. */
struct na_result {
    struct base_completion completion;
    struct na_op_id *op_id;
    na_return_t ret;
    na_plugin_event event;
};

enum na_op_state { NA_OP_IDLE, NA_OP_PENDING, NA_OP_DESTROYED };

struct na_op_id {
    struct na_class *na_class;
    LIST_ENTRY(na_op_id) next; /* in op_ids of the class */
    /* Set while it is pending, else NULL. */
    struct na_context *_Atomic context;
    struct na_context
        *orphan_of; /* a dead context whose plugin may still use it */
    na_cb_t callback;
    void *arg;
    na_cb_type_t type;
    bool multi;
    _Atomic int state;     /* enum na_op_state */
    _Atomic bool reported; /* its completion is queued */
    const void *buffer;    /* of a message */
    uint64_t room;         /* bytes of buffer */
    void *buffer_data;     /* plugin data of buffer */
    bool free_buffer;      /* the user has freed buffer; under ops_lock */
    struct na_result last; /* of the final event */
    struct na_op *op;
};

/* Marks an operation as pending before it is submitted. BUSY: it is pending. */
na_return_t na_op_id_begin(struct na_op_id *op_id, struct na_context *context,
    na_cb_type_t type, na_cb_t callback, void *arg);

/* Handles the result of a submission: resets the mark on an error, queues the
 * callback if the operation has completed. */
na_return_t na_op_id_submitted(struct na_op_id *op_id,
    struct na_context *context, const char *entry, int32_t code);

/* na_op_id_begin for a message, with its buffer. */
na_return_t na_op_id_begin_message(struct na_op_id *op_id,
    struct na_context *context, na_cb_type_t type, na_cb_t callback, void *arg,
    const void *buffer, uint64_t room);

/* Returns true if an operation destroyed while pending uses the buffer, which
 * is freed when it has completed. */
bool na_op_ids_keep_buffer(
    struct na_class *na_class, const void *buffer, void *buffer_data);

/* Returns the number of the context's operations that were destroyed while
 * pending and have not completed. */
uint32_t na_op_ids_destroyed(struct na_context *context);

/* Completes the pending operations of a dead context with IO_ERROR; they can
 * only be destroyed then. Called under the progress lock. */
void na_op_ids_fail(struct na_context *context);

/* Frees operations that were destroyed while the plugin used them. The plugin's
 * context was destroyed. */
void na_op_ids_free_destroyed(struct na_context *context);

#endif /* NA_OP_ID_H */

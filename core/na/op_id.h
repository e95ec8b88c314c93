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
    struct na_context *context; /* NULL until first used */
    na_cb_t callback;
    void *arg;
    na_cb_type_t type;
    bool multi;
    _Atomic int state;     /* enum na_op_state */
    struct na_result last; /* of the final event */
    struct na_op *op;
};

/* Marks an operation as submitted, before it is. BUSY: it is pending. */
na_return_t na_op_id_begin(struct na_op_id *op_id, struct na_context *context,
    na_cb_type_t type, na_cb_t callback, void *arg);

/* What a submission returned: takes the mark back on error, queues the callback
 * when the operation is done already. */
na_return_t na_op_id_submitted(
    struct na_op_id *op_id, struct na_context *context, int32_t code);

#endif /* NA_OP_ID_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An operation: the core's part, directly followed by the plugin's part, both
 * inside the object that owns the operation (a handle, a transfer, an op id).
 * The plugin names it by its own part, so that the way from an event back to
 * the owner is pointer arithmetic.
 */
#ifndef NA_OP_H
#define NA_OP_H

#include "na_plugin.h"
#include "na_types.h"

#include <stddef.h>
#include <stdint.h>

#define NA_OP_ALIGN 64U

struct na_op {
    /* What its final event means, and with MORE also each event before.
     * Called by progress, under the lock of na/progress.h: it may submit and
     * queue completions, it runs no user code. After it returned, the
     * operation may be gone. */
    void (*complete)(struct na_op *op, const na_plugin_event *event);
    void *owner;
};

_Static_assert(NA_OP_ALIGN % sizeof(struct na_op) == 0, "parts are adjacent");

/* The plugin's part. */
static inline void *
na_op_part(struct na_op *op)
{
    return op + 1;
}

/* The operation whose plugin's part this is. */
static inline struct na_op *
na_op_of(void *part)
{
    return (struct na_op *) part - 1;
}

/* Where an operation can stand in a block that is aligned to NA_OP_ALIGN:
 * the first place from *end_p bytes on. Moves *end_p behind it. */
size_t na_op_layout(const struct na_class *na_class, size_t *end_p);

/* A zeroed block of size bytes, aligned to NA_OP_ALIGN; free with free. */
void *na_op_block_alloc(size_t size);

#endif /* NA_OP_H */

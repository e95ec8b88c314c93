/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An operation: the core's part, directly followed by the plugin's part, both
 * embedded in the object that owns the operation (a handle, a transfer, an op
 * id). The plugin identifies it by its own part, so finding the owner of an
 * event is pointer arithmetic.
 */
#ifndef NA_OP_H
#define NA_OP_H

#include "na_plugin.h"
#include "na_types.h"

#include <stddef.h>
#include <stdint.h>

#define NA_OP_ALIGN 64U

struct na_op {
    /* Handles the final event, and before it each event with MORE. Called by
     * progress under its lock (na/progress.h): it may submit operations and
     * queue completions, but runs no user code. The operation may be freed when
     * it returns. */
    void (*complete)(struct na_op *op, const na_plugin_event *event);
    void *owner;
    char part[]; /* of the plugin */
};

_Static_assert(NA_OP_ALIGN % sizeof(struct na_op) == 0, "parts are adjacent");

_Static_assert(offsetof(struct na_op, part) == sizeof(struct na_op),
    "na_op_of subtracts it");

/* Returns the operation of a plugin's part. */
static inline struct na_op *
na_op_of(void *part)
{
    return (struct na_op *) part - 1;
}

/* Returns the offset of an operation in a block that is aligned to NA_OP_ALIGN:
 * the first one from *end_p on. Sets *end_p to its end. */
size_t na_op_layout(const struct na_class *na_class, size_t *end_p);

/* Allocates a zeroed block of size bytes, aligned to NA_OP_ALIGN, to be freed
 * with free(). */
void *na_op_block_alloc(size_t size);

#endif /* NA_OP_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Layout of operations in the objects that own them. */
#include "na/op.h"

#include "na/class.h"

#include <stdlib.h>
#include <string.h>

static size_t
round_up(size_t value, size_t to)
{
    return (value + to - 1) / to * to;
}

size_t
na_op_layout(const struct na_class *na_class, size_t *end_p)
{
    size_t part = round_up(*end_p + sizeof(struct na_op), NA_OP_ALIGN);

    *end_p = part + na_class->opened.op_size;
    return part - sizeof(struct na_op);
}

void *
na_op_block_alloc(size_t size)
{
    size_t rounded = round_up(size, NA_OP_ALIGN);
    void *block = aligned_alloc(NA_OP_ALIGN, rounded);

    if (block)
        memset(block, 0, rounded);
    return block;
}

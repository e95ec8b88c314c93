/* SPDX-License-Identifier: BSD-3-Clause */
/* The RPCs of the tests, as C has them. */
#ifndef RPCS_H
#define RPCS_H

#include <mercury.h>
#include <mercury_bulk.h>
#include <mercury_macros.h>
#include <talaria.h>

/* What `bytes` is in Python. */
typedef struct {
    uint64_t size;
    void *data; /* from malloc after decoding */
} bytes_t;

static inline hg_return_t
hg_proc_bytes_t(hg_proc_t proc, void *argument)
{
    bytes_t *bytes = argument;
    hg_return_t ret;

    if (hg_proc_get_op(proc) == HG_FREE) {
        free(bytes->data);
        bytes->data = NULL;
        return HG_SUCCESS;
    }
    ret = hg_proc_uint64_t(proc, &bytes->size);
    if (ret != HG_SUCCESS || hg_proc_get_op(proc) == HG_ENCODE)
        return ret != HG_SUCCESS
                   ? ret
                   : hg_proc_bytes(proc, bytes->data, bytes->size);
    if (bytes->size > hg_proc_get_size_left(proc))
        return HG_OVERFLOW;
    bytes->data = malloc(bytes->size + 1); /* never 0 bytes */
    if (!bytes->data)
        return HG_NOMEM;
    ret = hg_proc_bytes(proc, bytes->data, bytes->size);
    if (ret != HG_SUCCESS)
        free(bytes->data);
    return ret;
}

MERCURY_GEN_PROC(sum_in_t, ((int32_t) (a))((int32_t) (b)))
MERCURY_GEN_PROC(sum_out_t, ((int32_t) (sum)))
MERCURY_GEN_PROC(types_t,
    ((int8_t) (b))((int16_t) (h))((int32_t) (i))((int64_t) (q))((uint8_t) (B))(
        (uint16_t) (H))((uint32_t) (I))((uint64_t) (Q))((hg_bool_t) (truth))(
        (hg_string_t) (text))((hg_string_t) (none))((bytes_t) (bytes)))
/* A reply of `bytes`. */
MERCURY_GEN_PROC(
    reply_t, ((int32_t) (code))((hg_string_t) (text))((bytes_t) (bytes)))
MERCURY_GEN_PROC(memory_t, ((hg_bulk_t) (bulk))((uint8_t) (value)))
MERCURY_GEN_PROC(moved_t, ((int32_t) (ret))((uint64_t) (size)))

#endif /* RPCS_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Remote memory access of the NA interface. */
#include "na.h"

#include "na/addr.h"
#include "na/context.h"
#include "na/mem.h"
#include "na/op.h"
#include "na/op_id.h"

static na_return_t
check(const na_class_t *na_class, const na_context_t *context,
    const na_mem_handle_t *local, const na_mem_handle_t *remote,
    const na_addr_t *addr, const na_op_id_t *op_id)
{
    if (!na_class || !context || context->na_class != na_class || !addr ||
        !op_id || op_id->multi)
        return NA_INVALID_ARG;
    if (!local || !local->mem || local->remote || !remote || !remote->mem ||
        !remote->remote)
        return NA_INVALID_ARG;
    return NA_SUCCESS;
}

na_return_t
NA_Put(na_class_t *na_class, na_context_t *context, na_cb_t callback, void *arg,
    na_mem_handle_t *local_mem_handle, na_offset_t local_offset,
    na_mem_handle_t *remote_mem_handle, na_offset_t remote_offset,
    size_t data_size, na_addr_t *remote_addr, uint8_t remote_id,
    na_op_id_t *op_id)
{
    na_return_t ret = check(na_class, context, local_mem_handle,
        remote_mem_handle, remote_addr, op_id);

    if (ret == NA_SUCCESS)
        ret = na_op_id_begin(op_id, context, NA_CB_PUT, callback, arg);
    if (ret != NA_SUCCESS)
        return ret;
    return na_op_id_submitted(op_id, context, "put",
        na_context_ops(context)->put(context->plugin_ctx, op_id->op->part,
            local_mem_handle->mem, local_offset, remote_mem_handle->mem,
            remote_offset, data_size, na_addr_plugin(remote_addr), remote_id,
            0));
}

na_return_t
NA_Get(na_class_t *na_class, na_context_t *context, na_cb_t callback, void *arg,
    na_mem_handle_t *local_mem_handle, na_offset_t local_offset,
    na_mem_handle_t *remote_mem_handle, na_offset_t remote_offset,
    size_t data_size, na_addr_t *remote_addr, uint8_t remote_id,
    na_op_id_t *op_id)
{
    na_return_t ret = check(na_class, context, local_mem_handle,
        remote_mem_handle, remote_addr, op_id);

    if (ret == NA_SUCCESS)
        ret = na_op_id_begin(op_id, context, NA_CB_GET, callback, arg);
    if (ret != NA_SUCCESS)
        return ret;
    return na_op_id_submitted(op_id, context, "get",
        na_context_ops(context)->get(context->plugin_ctx, op_id->op->part,
            local_mem_handle->mem, local_offset, remote_mem_handle->mem,
            remote_offset, data_size, na_addr_plugin(remote_addr), remote_id,
            0));
}

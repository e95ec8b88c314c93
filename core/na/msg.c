/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of the NA interface: buffers, sends and receives. */
#include "na.h"

#include "na/addr.h"
#include "na/call.h"
#include "na/context.h"
#include "na/op.h"
#include "na/op_id.h"

_Static_assert(NA_SEND == NA_PLUGIN_BUF_SEND && NA_RECV == NA_PLUGIN_BUF_RECV &&
                   NA_MULTI_RECV == NA_PLUGIN_BUF_MULTI_RECV,
    "kinds of buffers are passed on");

size_t
NA_Msg_get_max_unexpected_size(const na_class_t *na_class)
{
    return na_class ? na_class->opened.max_unexpected_size : 0;
}

size_t
NA_Msg_get_max_expected_size(const na_class_t *na_class)
{
    return na_class ? na_class->opened.max_expected_size : 0;
}

size_t
NA_Msg_get_unexpected_header_size(const na_class_t *na_class)
{
    return na_class ? na_class->opened.unexpected_header_size : 0;
}

size_t
NA_Msg_get_expected_header_size(const na_class_t *na_class)
{
    return na_class ? na_class->opened.expected_header_size : 0;
}

na_tag_t
NA_Msg_get_max_tag(const na_class_t *na_class)
{
    if (!na_class)
        return 0;
    return na_class->opened.max_tag < UINT32_MAX
               ? (na_tag_t) na_class->opened.max_tag
               : UINT32_MAX;
}

void *
NA_Msg_buf_alloc(na_class_t *na_class, size_t buf_size, unsigned long flags,
    void **plugin_data_p)
{
    void *buffer;

    if (!na_class || buf_size == 0 || !plugin_data_p ||
        na_buf_alloc(na_class, buf_size, (uint32_t) flags, &buffer,
            plugin_data_p) != NA_SUCCESS)
        return NULL;
    return buffer;
}

void
NA_Msg_buf_free(na_class_t *na_class, void *buf, void *plugin_data)
{
    if (na_class && buf && !na_op_ids_keep_buffer(na_class, buf, plugin_data))
        na_buf_free(na_class, buf, plugin_data);
}

static na_return_t
buf_init(na_class_t *na_class, void *buf, size_t buf_size, uint32_t kind)
{
    na_return_t ret;

    if (!na_class || !buf)
        return NA_INVALID_ARG;
    ret = na_buf_init(na_class, buf, buf_size, kind);
    /* MSGSIZE of buf_init: the buffer is smaller than the header. */
    return ret == NA_MSGSIZE ? NA_OVERFLOW : ret;
}

na_return_t
NA_Msg_init_unexpected(na_class_t *na_class, void *buf, size_t buf_size)
{
    return buf_init(na_class, buf, buf_size, NA_PLUGIN_MSG_UNEXPECTED);
}

na_return_t
NA_Msg_init_expected(na_class_t *na_class, void *buf, size_t buf_size)
{
    return buf_init(na_class, buf, buf_size, NA_PLUGIN_MSG_EXPECTED);
}

static na_return_t
check(const na_class_t *na_class, const na_context_t *context, const void *buf,
    const na_op_id_t *op_id, bool single)
{
    if (!na_class || !context || context->na_class != na_class || !buf ||
        !op_id || op_id->multi == single)
        return NA_INVALID_ARG;
    return NA_SUCCESS;
}

static na_return_t
check_peer(const na_class_t *na_class, const na_addr_t *addr, na_tag_t tag)
{
    if (!addr || tag > na_class->opened.max_tag)
        return NA_INVALID_ARG;
    return NA_SUCCESS;
}

na_return_t
NA_Msg_send_unexpected(na_class_t *na_class, na_context_t *context,
    na_cb_t callback, void *arg, const void *buf, size_t buf_size,
    void *plugin_data, na_addr_t *dest_addr, uint8_t dest_id, na_tag_t tag,
    na_op_id_t *op_id)
{
    na_return_t ret = check(na_class, context, buf, op_id, true);

    if (ret == NA_SUCCESS)
        ret = check_peer(na_class, dest_addr, tag);
    if (ret == NA_SUCCESS)
        ret = na_op_id_begin_message(op_id, context, NA_CB_SEND_UNEXPECTED,
            callback, arg, buf, buf_size);
    if (ret != NA_SUCCESS)
        return ret;
    return na_op_id_submitted(op_id, context, "send_unexpected",
        na_context_ops(context)->send_unexpected(context->plugin_ctx,
            op_id->op->part, buf, buf_size, plugin_data,
            na_addr_plugin(dest_addr), dest_id, tag, 0));
}

na_return_t
NA_Msg_recv_unexpected(na_class_t *na_class, na_context_t *context,
    na_cb_t callback, void *arg, void *buf, size_t buf_size, void *plugin_data,
    na_op_id_t *op_id)
{
    na_return_t ret = check(na_class, context, buf, op_id, true);

    if (ret == NA_SUCCESS)
        ret = na_op_id_begin_message(op_id, context, NA_CB_RECV_UNEXPECTED,
            callback, arg, buf, buf_size);
    if (ret != NA_SUCCESS)
        return ret;
    return na_op_id_submitted(op_id, context, "recv_unexpected",
        na_context_ops(context)->recv_unexpected(context->plugin_ctx,
            op_id->op->part, buf, buf_size, plugin_data, 0));
}

na_return_t
NA_Msg_multi_recv_unexpected(na_class_t *na_class, na_context_t *context,
    na_cb_t callback, void *arg, void *buf, size_t buf_size, void *plugin_data,
    na_op_id_t *op_id)
{
    na_return_t ret = check(na_class, context, buf, op_id, false);

    if (ret == NA_SUCCESS && !na_class->multi_recv)
        ret = NA_OPNOTSUPPORTED;
    if (ret == NA_SUCCESS && buf_size < na_class->multi_recv->min_length)
        ret = NA_INVALID_ARG;
    if (ret == NA_SUCCESS)
        ret = na_op_id_begin_message(op_id, context,
            NA_CB_MULTI_RECV_UNEXPECTED, callback, arg, buf, buf_size);
    if (ret != NA_SUCCESS)
        return ret;
    return na_op_id_submitted(op_id, context, "recv_multi",
        na_class->multi_recv->recv_multi(context->plugin_ctx, op_id->op->part,
            buf, buf_size, plugin_data, 0));
}

na_return_t
NA_Msg_send_expected(na_class_t *na_class, na_context_t *context,
    na_cb_t callback, void *arg, const void *buf, size_t buf_size,
    void *plugin_data, na_addr_t *dest_addr, uint8_t dest_id, na_tag_t tag,
    na_op_id_t *op_id)
{
    na_return_t ret = check(na_class, context, buf, op_id, true);

    if (ret == NA_SUCCESS)
        ret = check_peer(na_class, dest_addr, tag);
    if (ret == NA_SUCCESS)
        ret = na_op_id_begin_message(
            op_id, context, NA_CB_SEND_EXPECTED, callback, arg, buf, buf_size);
    if (ret != NA_SUCCESS)
        return ret;
    return na_op_id_submitted(op_id, context, "send_expected",
        na_context_ops(context)->send_expected(context->plugin_ctx,
            op_id->op->part, buf, buf_size, plugin_data,
            na_addr_plugin(dest_addr), dest_id, tag, 0));
}

na_return_t
NA_Msg_recv_expected(na_class_t *na_class, na_context_t *context,
    na_cb_t callback, void *arg, void *buf, size_t buf_size, void *plugin_data,
    na_addr_t *source_addr, uint8_t source_id, na_tag_t tag, na_op_id_t *op_id)
{
    na_return_t ret = check(na_class, context, buf, op_id, true);

    if (ret == NA_SUCCESS)
        ret = check_peer(na_class, source_addr, tag);
    if (ret == NA_SUCCESS)
        ret = na_op_id_begin_message(
            op_id, context, NA_CB_RECV_EXPECTED, callback, arg, buf, buf_size);
    if (ret != NA_SUCCESS)
        return ret;
    return na_op_id_submitted(op_id, context, "recv_expected",
        na_context_ops(context)->recv_expected(context->plugin_ctx,
            op_id->op->part, buf, buf_size, plugin_data,
            na_addr_plugin(source_addr), source_id, tag, 0));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Input and output: decoding, freeing, and access to the bytes. */
#include "hg/handle.h"

#include "base/log.h"
#include "hg/checksum.h"
#include "hg/multi_recv.h"

static inline __attribute__((always_inline)) hg_return_t
decode(struct hg_handle *handle, struct hg_message *message, char *bytes,
    size_t size, hg_proc_cb_t proc_cb, void *data)
{
    hg_return_t ret;

    proc_begin(&message->proc, bytes, size, HG_DECODE);
    ret = proc_cb(&message->proc, data);
    if (ret != HG_SUCCESS)
        return ret;
    message->decoded++;
    hg_handle_ref(handle, 1);
    return HG_SUCCESS;
}

/* Decodes a message with an extra payload or a checksum. With a checksum it
 * must be decoded completely. */
static __attribute__((cold, noinline)) hg_return_t
decode_flagged(struct hg_handle *handle, struct hg_message *message,
    size_t offset, hg_proc_cb_t proc_cb, void *data)
{
    bool summed = message->flags & HG_HEADER_PAYLOAD_SUM;
    const struct hg_extra *extra = message->extra;
    hg_return_t ret;
    size_t left;

    if (message->flags & HG_MESSAGE_RELEASED)
        return HG_FAULT;
    /* The target has checked it before running its handler. */
    if (summed && handle->role == HG_ROLE_ORIGIN &&
        !hg_checksum_agrees(message))
        return HG_CHECKSUM_ERROR;
    ret =
        decode(handle, message, extra ? extra->data : message->payload + offset,
            extra ? extra->size : message->size - offset, proc_cb, data);
    left = proc_left(&message->proc);
    if (ret != HG_SUCCESS || !summed || left == 0)
        return ret;
    LOG_ERROR(HG, "%zu bytes of checksummed arguments were not decoded", left);
    /* The caller gets an error and so frees nothing. */
    proc_begin(&message->proc, NULL, 0, HG_FREE);
    proc_cb(&message->proc, data);
    message->decoded--;
    hg_handle_unref(handle, 1);
    return HG_CHECKSUM_ERROR;
}

/* Decodes, and takes a reference until the matching free. */
static inline __attribute__((always_inline)) hg_return_t
message_decode(struct hg_handle *handle, struct hg_message *message,
    size_t offset, hg_proc_cb_t proc_cb, void *data)
{
    if (!data)
        return HG_INVALID_ARG;
    if (!proc_cb)
        return HG_FAULT;
    if (message->size < offset)
        return message->flags & HG_MESSAGE_RELEASED ? HG_FAULT : HG_OVERFLOW;
    if (__builtin_expect(message->flags != 0, 0))
        return decode_flagged(handle, message, offset, proc_cb, data);
    return decode(handle, message, message->payload + offset,
        message->size - offset, proc_cb, data);
}

/* Like Mercury, this lets either side free structs of either kind, filled in by
 * the program or decoded. other: the handle's other message, which may have the
 * reference. */
static inline __attribute__((always_inline)) hg_return_t
message_free(struct hg_handle *handle, struct hg_message *message,
    struct hg_message *other, hg_proc_cb_t proc_cb, void *data)
{
    hg_return_t ret;

    if (!data)
        return HG_INVALID_ARG;
    if (!proc_cb)
        return HG_FAULT;
    proc_begin(&message->proc, NULL, 0, HG_FREE);
    ret = proc_cb(&message->proc, data);
    if (__builtin_expect(message->decoded == 0, 0)) {
        if (other->decoded == 0)
            return ret; /* not decoded: no reference */
        message = other;
    }
    message->decoded--;
    hg_handle_unref(handle, 1);
    return ret;
}

/* Releases the memory that the input was decoded from. */
static void
release_input(struct hg_handle *handle)
{
    hg_message_drop_extra(&handle->in);
    handle->in.size = 0;
    handle->in.flags = HG_MESSAGE_RELEASED;
    if (__builtin_expect(handle->multi_buffer != NULL, 0))
        hg_multi_release(handle);
}

hg_return_t
HG_Get_input(hg_handle_t handle, void *in_struct)
{
    const struct hg_class *hg_class;
    hg_return_t ret;

    if (!handle || handle->role != HG_ROLE_TARGET || !handle->rpc)
        return HG_INVALID_ARG;
    hg_class = handle->context->hg_class;
    ret = message_decode(handle, &handle->in, hg_class->in_offset,
        handle->rpc->in_proc, in_struct);
    if (ret == HG_SUCCESS && __builtin_expect(hg_class->release_input_early, 0))
        release_input(handle);
    return ret;
}

hg_return_t
HG_Free_input(hg_handle_t handle, void *in_struct)
{
    if (!handle || !handle->rpc)
        return HG_INVALID_ARG;
    return message_free(
        handle, &handle->in, &handle->out, handle->rpc->in_proc, in_struct);
}

hg_return_t
HG_Get_output(hg_handle_t handle, void *out_struct)
{
    if (!handle || handle->role != HG_ROLE_ORIGIN || !handle->rpc)
        return HG_INVALID_ARG;
    return message_decode(handle, &handle->out,
        handle->context->hg_class->out_offset, handle->rpc->out_proc,
        out_struct);
}

hg_return_t
HG_Free_output(hg_handle_t handle, void *out_struct)
{
    if (!handle || !handle->rpc)
        return HG_INVALID_ARG;
    return message_free(
        handle, &handle->out, &handle->in, handle->rpc->out_proc, out_struct);
}

__attribute__((cold)) hg_size_t
HG_Get_input_payload_size(hg_handle_t handle)
{
    return handle ? hg_payload_size(
                        &handle->in, handle->context->hg_class->in_offset)
                  : 0;
}

__attribute__((cold)) hg_size_t
HG_Get_output_payload_size(hg_handle_t handle)
{
    return handle ? hg_payload_size(
                        &handle->out, handle->context->hg_class->out_offset)
                  : 0;
}

static hg_return_t
give(const struct hg_message *message, hg_size_t size, void **buf_p,
    hg_size_t *size_p)
{
    if (buf_p)
        *buf_p = message->payload;
    if (size_p)
        *size_p = size;
    return HG_SUCCESS;
}

/* The sender of a message may fill all of its payload; the receiver gets what
 * arrived. */
__attribute__((cold)) hg_return_t
HG_Get_input_buf(hg_handle_t handle, void **in_buf_p, hg_size_t *in_buf_size_p)
{
    if (!handle)
        return HG_INVALID_ARG;
    return give(&handle->in,
        handle->role == HG_ROLE_ORIGIN ? hg_net_in_room(&handle->port->net)
                                       : handle->in.size,
        in_buf_p, in_buf_size_p);
}

__attribute__((cold)) hg_return_t
HG_Get_output_buf(
    hg_handle_t handle, void **out_buf_p, hg_size_t *out_buf_size_p)
{
    if (!handle)
        return HG_INVALID_ARG;
    return give(&handle->out,
        handle->role == HG_ROLE_TARGET ? hg_net_out_room(&handle->port->net)
                                       : handle->out.size,
        out_buf_p, out_buf_size_p);
}

/* The message's own buffer is released with the handle: nothing else needs it.
 */
__attribute__((cold)) hg_return_t
HG_Release_input_buf(hg_handle_t handle)
{
    if (!handle || handle->role != HG_ROLE_TARGET)
        return HG_INVALID_ARG;
    if (handle->in.decoded > 0)
        return HG_BUSY;
    release_input(handle);
    return HG_SUCCESS;
}

static hg_return_t
give_extra(const struct hg_message *message, void **buf_p, hg_size_t *size_p)
{
    const struct hg_extra *extra = hg_message_extra(message);

    if (buf_p)
        *buf_p = extra ? extra->data : NULL;
    if (size_p)
        *size_p = extra ? extra->size : 0;
    return HG_SUCCESS;
}

__attribute__((cold)) hg_return_t
HG_Get_input_extra_buf(
    hg_handle_t handle, void **in_buf_p, hg_size_t *in_buf_size_p)
{
    return handle ? give_extra(&handle->in, in_buf_p, in_buf_size_p)
                  : HG_INVALID_ARG;
}

__attribute__((cold)) hg_return_t
HG_Get_output_extra_buf(
    hg_handle_t handle, void **out_buf_p, hg_size_t *out_buf_size_p)
{
    return handle ? give_extra(&handle->out, out_buf_p, out_buf_size_p)
                  : HG_INVALID_ARG;
}

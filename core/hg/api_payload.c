/* SPDX-License-Identifier: BSD-3-Clause */
/* Input and output: decoding, freeing, and access to the bytes. */
#include "hg/handle.h"

#include "base/log.h"
#include "base/same.h"
#include "hg/checksum.h"
#include "hg/multi_recv.h"
#include "hg/peer_log.h"
#include "na/progress.h"

/* Whether the RPC was registered with a proc for this message. */
static bool
has_proc(const struct hg_handle *handle, const struct hg_message *message)
{
    const struct hg_rpc *rpc = handle->rpc;

    return (message == &handle->in ? rpc->in_proc : rpc->out_proc) !=
           hg_rpc_no_proc;
}

/* The peer may have another struct, or mean harm. A call that failed has no
 * output. */
static __attribute__((cold, noinline)) hg_return_t
not_decoded(const struct hg_handle *handle, const struct hg_message *message,
    hg_return_t ret)
{
    if (!has_proc(handle, message))
        return HG_FAULT;
    if (message == &handle->in || message->size > 0)
        HG_LOG_PEER(handle, WARNING,
            "%s not decoded: %s: do both sides have the same struct?",
            message == &handle->in ? "input" : "output",
            HG_Error_to_string(ret));
    return ret;
}

static inline struct hg_message *
message_of(struct hg_handle *handle, bool output)
{
    return output ? &handle->out : &handle->in;
}

static inline __attribute__((always_inline)) hg_return_t
decode(struct hg_handle *handle, bool output, char *bytes, char *end,
    hg_proc_cb_t proc_cb, void *data)
{
    struct hg_message *message = message_of(handle, output);
    hg_return_t ret;

    proc_begin(&message->proc, bytes, end, HG_DECODE);
    ret = proc_cb(&message->proc, data);
    handle = base_same(handle);
    message = message_of(handle, output);
    if (ret != HG_SUCCESS)
        return not_decoded(handle, message, ret);
    message->decoded++;
    hg_handle_ref_fast(handle);
    return HG_SUCCESS;
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

/* Whether a response that is used wakes the leader. */
static inline unsigned
wakes(const struct hg_handle *handle, bool output)
{
    return output ? na_progress_wakes_early(handle->port->na_context) : 0;
}

/* Decodes a message with an extra payload, a checksum, or one that is released
 * then, or wakes the leader. With a checksum it must be decoded completely. */
static __attribute__((cold, noinline)) hg_return_t
decode_flagged(struct hg_handle *handle, bool output, size_t offset,
    hg_proc_cb_t proc_cb, void *data)
{
    struct hg_message *message = message_of(handle, output);
    bool summed = message->flags & HG_HEADER_PAYLOAD_SUM;
    const struct hg_extra *extra = message->extra;
    char *bytes = extra ? extra->data : message->payload + offset;
    hg_return_t ret;
    size_t left;

    /* The answer of a call to oneself has not woken the leader. */
    if (wakes(handle, output) && !handle->loopback)
        na_progress_wake_early(handle->port->na_context);
    if (message->flags & HG_MESSAGE_RELEASED || !has_proc(handle, message))
        return HG_FAULT;
    if (message->size < offset)
        return not_decoded(handle, message, HG_OVERFLOW);
    /* The target has checked it before running its handler. */
    if (summed && handle->role == HG_ROLE_ORIGIN &&
        !hg_checksum_agrees(message))
        return HG_CHECKSUM_ERROR;
    ret = decode(handle, output, bytes,
        extra ? bytes + extra->size : message->payload + message->size, proc_cb,
        data);
    if (ret != HG_SUCCESS)
        return ret;
    left = proc_left(&message->proc);
    if (summed && left != 0) {
        LOG_ERROR(
            HG, "%zu bytes of checksummed arguments were not decoded", left);
        /* The caller gets an error and so frees nothing. */
        proc_begin(&message->proc, NULL, NULL, HG_FREE);
        proc_cb(&message->proc, data);
        message->decoded--;
        hg_handle_unref(handle, 1);
        return HG_CHECKSUM_ERROR;
    }
    if (message->flags & HG_MESSAGE_RELEASE)
        release_input(handle);
    return HG_SUCCESS;
}

/* Decodes, and takes a reference until the matching free. Only the handle is
 * used after the proc: few registers are saved, here and below. */
static inline __attribute__((always_inline)) hg_return_t
message_decode(struct hg_handle *handle, bool output, size_t offset,
    hg_proc_cb_t proc_cb, void *data)
{
    struct hg_message *message = message_of(handle, output);

    if (!data)
        return HG_INVALID_ARG;
    if (__builtin_expect(message->flags | wakes(handle, output), 0))
        return decode_flagged(handle, output, offset, proc_cb, data);
    if (message->size < offset)
        return not_decoded(handle, message, HG_OVERFLOW);
    return decode(handle, output, message->payload + offset,
        message->payload + message->size, proc_cb, data);
}

/* Frees a struct that was not decoded from this message: then there is no
 * reference, or the handle's other message has it. */
static __attribute__((cold, noinline)) hg_return_t
free_other(struct hg_handle *handle, bool output, hg_return_t ret)
{
    struct hg_message *other = message_of(handle, !output);

    if (has_proc(handle, message_of(handle, output)) && other->decoded > 0) {
        other->decoded--;
        hg_handle_unref(handle, 1);
    }
    return ret;
}

/* The last reference was dropped. */
static __attribute__((noinline)) hg_return_t
released(struct hg_handle *handle, hg_return_t ret)
{
    handle->side->released(handle);
    return ret;
}

/* Like Mercury, this lets either side free structs of either kind, filled in by
 * the program or decoded. */
static inline __attribute__((always_inline)) hg_return_t
message_free(
    struct hg_handle *handle, bool output, hg_proc_cb_t proc_cb, void *data)
{
    struct hg_message *message = message_of(handle, output);
    hg_return_t ret;

    if (!data)
        return HG_INVALID_ARG;
    proc_begin(&message->proc, NULL, NULL, HG_FREE);
    ret = proc_cb(&message->proc, data);
    handle = base_same(handle);
    message = message_of(handle, output);
    if (__builtin_expect(message->decoded == 0, 0))
        return free_other(handle, output, ret);
    message->decoded--;
    if (__builtin_expect(hg_handle_drop_fast(handle), 0))
        return released(handle, ret);
    return ret;
}

hg_return_t
HG_Get_input(hg_handle_t handle, void *in_struct)
{
    if (!handle || handle->role != HG_ROLE_TARGET || !handle->rpc)
        return HG_INVALID_ARG;
    return message_decode(handle, false, handle->hg_class->in_offset,
        handle->rpc->in_proc, in_struct);
}

hg_return_t
HG_Free_input(hg_handle_t handle, void *in_struct)
{
    if (!handle || !handle->rpc)
        return HG_INVALID_ARG;
    return message_free(handle, false, handle->rpc->in_proc, in_struct);
}

hg_return_t
HG_Get_output(hg_handle_t handle, void *out_struct)
{
    if (!handle || handle->role != HG_ROLE_ORIGIN || !handle->rpc)
        return HG_INVALID_ARG;
    return message_decode(handle, true, handle->hg_class->out_offset,
        handle->rpc->out_proc, out_struct);
}

hg_return_t
HG_Free_output(hg_handle_t handle, void *out_struct)
{
    if (!handle || !handle->rpc)
        return HG_INVALID_ARG;
    return message_free(handle, true, handle->rpc->out_proc, out_struct);
}

__attribute__((cold)) hg_size_t
HG_Get_input_payload_size(hg_handle_t handle)
{
    return handle ? hg_payload_size(&handle->in, handle->hg_class->in_offset)
                  : 0;
}

__attribute__((cold)) hg_size_t
HG_Get_output_payload_size(hg_handle_t handle)
{
    return handle ? hg_payload_size(&handle->out, handle->hg_class->out_offset)
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* Encoding arguments and results into a message. */
#ifndef HG_PAYLOAD_H
#define HG_PAYLOAD_H

#include "hg/message.h"
#include "hg/overflow.h"

/* Continues when encoding, which returned ret, has exceeded the message. */
hg_return_t hg_message_outgrown(struct hg_message *message, size_t offset,
    size_t capacity, hg_proc_cb_t proc_cb, void *data, hg_return_t ret);

/* Encodes a struct behind the user's offset. data or proc_cb NULL: no payload but
 * the offset. */
static inline __attribute__((always_inline)) hg_return_t
hg_message_encode(struct hg_message *message, size_t offset, size_t capacity,
    hg_proc_cb_t proc_cb, void *data)
{
    struct hg_proc *proc = &message->proc;
    hg_return_t ret;

    message->size = offset;
    message->flags = 0;
    if (__builtin_expect(message->overflow != NULL, 0))
        hg_overflow_drop(message);
    if (!data || !proc_cb)
        return HG_SUCCESS;
    proc_begin(proc, message->payload + offset, capacity - offset, HG_ENCODE);
    ret = proc_cb(proc, data);
    if (__builtin_expect(proc->extra, 0))
        return hg_message_outgrown(
            message, offset, capacity, proc_cb, data, ret);
    if (ret == HG_SUCCESS)
        message->size = offset + proc_used(proc);
    return ret;
}

/* Arguments beyond the message; NULL: there are none, or not any more. */
static inline const struct hg_overflow *
hg_overflow_of(const struct hg_message *message)
{
    return message->flags & HG_MESSAGE_RELEASED ? NULL : message->overflow;
}

/* The user's space and the encoded arguments, wherever they are. offset: size of
 * that space. */
static inline hg_size_t
hg_payload_size(const struct hg_message *message, size_t offset)
{
    const struct hg_overflow *overflow = hg_overflow_of(message);

    return overflow ? overflow->size + offset : message->size;
}

#endif /* HG_PAYLOAD_H */

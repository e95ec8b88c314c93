/* SPDX-License-Identifier: BSD-3-Clause */
/* One of a handle's two messages: a buffer of the transport's, and the state of
 * encoding or decoding it. */
#ifndef HG_MESSAGE_H
#define HG_MESSAGE_H

#include "proc/proc.h"

#include <stddef.h>
#include <stdint.h>

/* A payload that the message itself has no room for, see rendezvous.h. */
struct hg_extra {
    char *data;
    size_t size;
    void (*release)(struct hg_extra *extra); /* drops the message's reference */
};

/* In hg_message.flags, beside HG_HEADER_MORE and HG_HEADER_SUMS. */
#define HG_MESSAGE_RELEASED 0x80U  /* the program has given it back */
#define HG_MESSAGE_FETCHED 0x40U   /* what was elsewhere is here */
#define HG_MESSAGE_OBSERVED 0x100U /* its handler is observed, see stage.h */

/* One of a handle's two messages. */
struct hg_message {
    char *buffer;           /* the transport's */
    void *buffer_data;      /* and what belongs to it */
    char *payload;          /* in buffer, the user's offset included */
    hg_size_t size;         /* bytes of payload, likewise */
    uint32_t decoded;       /* structs made of it that are not freed yet */
    uint32_t flags;         /* of its header, and HG_MESSAGE_* */
    uint32_t sum;           /* received: checksum of the payload, */
    uint64_t sum_begun;     /* and this that of what the message held */
    struct hg_extra *extra; /* the payload's rest, or NULL */
    struct hg_proc proc;
};

/* Nobody is at work on the extra payload. */
static inline void
hg_message_drop_extra(struct hg_message *message)
{
    struct hg_extra *extra = message->extra;

    if (__builtin_expect(extra != NULL, 0)) {
        message->extra = NULL;
        extra->release(extra);
    }
}

/* extra.c: continues when encoding, which returned ret, has exceeded the message:
 * what it left in the proc's extra buffer goes along with the message, and the
 * payload, behind offset, becomes the reference to that. OVERFLOW: not wanted, or no
 * room for the reference; NOMEM, or as HG_Bulk_create; of an answer also as
 * hg_hold_take. On an error nothing is left of it. [any thread] */
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

/* The extra payload; NULL: there are none, or not any more. */
static inline const struct hg_extra *
hg_message_extra(const struct hg_message *message)
{
    return message->flags & HG_MESSAGE_RELEASED ? NULL : message->extra;
}

/* The user's space and the encoded arguments, wherever they are. offset: size of
 * that space. */
static inline hg_size_t
hg_payload_size(const struct hg_message *message, size_t offset)
{
    const struct hg_extra *extra = hg_message_extra(message);

    return extra ? extra->size + offset : message->size;
}

#endif /* HG_MESSAGE_H */

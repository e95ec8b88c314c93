/* SPDX-License-Identifier: BSD-3-Clause */
/* One of a handle's two messages: a buffer of the transport, and the state of
 * encoding or decoding it. */
#ifndef HG_MESSAGE_H
#define HG_MESSAGE_H

#include "proc/proc.h"

#include <stddef.h>
#include <stdint.h>

/* A payload too large for the message, see rendezvous.h. */
struct hg_extra {
    char *data;
    size_t size;
    void (*release)(struct hg_extra *extra); /* drops the message's reference */
};

/* In hg_message.flags, beside HG_HEADER_MORE and HG_HEADER_SUMS. */
#define HG_MESSAGE_RELEASED 0x80U  /* released by the program */
#define HG_MESSAGE_FETCHED 0x40U   /* the extra payload was fetched */
#define HG_MESSAGE_OBSERVED 0x100U /* its handler is observed, see stage.h */
#define HG_MESSAGE_RELEASE 0x200U  /* is to be released when it is decoded */

/* One of a handle's two messages. */
struct hg_message {
    char *buffer;           /* of the transport */
    char *end;              /* of the buffer of a message to be sent */
    void *buffer_data;      /* plugin data of the buffer */
    char *payload;          /* in buffer, the user's offset included */
    hg_size_t size;         /* bytes of payload, offset included */
    uint32_t decoded;       /* decoded structs not freed yet */
    uint32_t flags;         /* of its header, and HG_MESSAGE_* */
    uint32_t sum;           /* received: checksum of the payload */
    uint64_t sum_begun;     /* that of the bytes in the message */
    struct hg_extra *extra; /* extra payload, or NULL */
    void *source;           /* sent: the struct that is being encoded */
    struct hg_proc proc;
};

/* Drops the extra payload. No fetch may be in progress. */
static inline void
hg_message_drop_extra(struct hg_message *message)
{
    struct hg_extra *extra = message->extra;

    if (__builtin_expect(extra != NULL, 0)) {
        message->extra = NULL;
        extra->release(extra);
    }
}

/* Encodes a struct after the user's space of `offset` bytes. end: of the buffer.
 * data NULL: no payload but that space. hg_message_encoded completes it, a
 * function of its own so that the caller can forget the message's address
 * meanwhile (base/same.h). */
static inline __attribute__((always_inline)) hg_return_t
hg_message_encode(struct hg_message *message, size_t offset, char *end,
    hg_proc_cb_t proc_cb, void *data)
{
    struct hg_proc *proc = &message->proc;

    message->source = data;
    proc_begin(proc, message->payload + offset, end, HG_ENCODE);
    return __builtin_expect(data != NULL, 1) ? proc_cb(proc, data) : HG_SUCCESS;
}

/* ret: of hg_message_encode. Returns whether all of the struct is in the message. If
 * not, ret is an error, or proc.extra is set, or both: it did not fit, and
 * hg_extra_put (extra.h) completes it. */
static inline __attribute__((always_inline)) bool
hg_message_encoded(struct hg_message *message, hg_return_t ret)
{
    if (__builtin_expect(ret != HG_SUCCESS || message->proc.extra, 0))
        return false;
    message->size = (hg_size_t) (message->proc.pos - message->payload);
    return true;
}

/* Drops the extra payload of a message that was to be sent, for which alone it has
 * flags, or clears a received one that is not read any more. */
static inline void
hg_message_unspill(struct hg_message *message)
{
    hg_message_drop_extra(message);
    message->flags = 0;
}

/* Returns the extra payload, or NULL if there is none, or it was released. */
static inline const struct hg_extra *
hg_message_extra(const struct hg_message *message)
{
    return message->flags & HG_MESSAGE_RELEASED ? NULL : message->extra;
}

/* Returns the bytes of the user's space and the encoded arguments, in the
 * message or the extra payload. offset: bytes of the user's space. */
static inline hg_size_t
hg_payload_size(const struct hg_message *message, size_t offset)
{
    const struct hg_extra *extra = hg_message_extra(message);

    return extra ? extra->size + offset : message->size;
}

#endif /* HG_MESSAGE_H */

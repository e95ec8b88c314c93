/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arguments that are too large for a message. Their sender keeps them, encoded
 * and registered, and the message says where they are; its receiver fetches
 * them. How either side learns when the other is done: a request is over with
 * its answer, and an answer is acknowledged. header.h has the forms on the
 * wire.
 */
#ifndef HG_OVERFLOW_H
#define HG_OVERFLOW_H

#include "hg/checksum.h"
#include "hg/hold.h"
#include "hg/message.h"
#include "mercury_types.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hg_bulk;
struct hg_handle;
struct na_op;

struct hg_overflow {
    struct hg_handle *handle;
    char *data;   /* the encoded arguments, then the seal */
    size_t size;  /* of the arguments */
    bool callers; /* who frees data */
    struct hg_hold hold;
    _Atomic int32_t refs; /* messages that it goes along with */
    bool ending;          /* the end was asked for; in progress */
    uint8_t ack_tries;
    struct hg_bulk *bulk; /* while somebody fetches */
    uint64_t seal;
    hg_op_id_t fetch;       /* the transfer, or HG_OP_ID_NULL */
    uint32_t tag;           /* of the acknowledgement */
    uint32_t cookie;        /* likewise */
    _Atomic uint32_t parts; /* of an answer: its sending, being acknowledged */
    struct na_op *ack;
    char *ack_buffer;
};

/* What encoding a message left in its proc's extra buffer goes along with it,
 * and its payload, behind offset, becomes the reference to that. HG_OVERFLOW:
 * not wanted, or no room for the reference; HG_NOMEM, or as HG_Bulk_create; of
 * an answer also as hg_hold_take. On an error nothing is left of it. */
hg_return_t hg_overflow_keep(
    struct hg_message *message, size_t offset, size_t capacity);

/* Frees what went along with a message, which may be nothing; with both of a
 * handle. Nobody is at work on it. */
void hg_overflow_drop(struct hg_message *message);
void hg_overflow_clear(struct hg_handle *handle);

/* Makes what goes along with one message go along with another of this
 * process too. */
void hg_overflow_share(
    const struct hg_message *message, struct hg_message *other);

/* What goes along with a message, for its checksum. */
static inline struct hg_rest
hg_overflow_rest(const struct hg_message *message)
{
    const struct hg_overflow *overflow = message->overflow;

    return overflow ? (struct hg_rest){overflow->data, overflow->size}
                    : (struct hg_rest){NULL, 0};
}

/* Nobody is to fetch it any more. */
void hg_overflow_withdraw(struct hg_overflow *overflow);

/* Fetches what the message that a handle received refers to. The side's
 * `fetched` is called once, perhaps before this returns. In progress. */
void hg_overflow_fetch(struct hg_handle *handle);

/* Posts the receive of what will acknowledge an answer. [any thread] */
hg_return_t hg_overflow_await(struct hg_handle *handle);

/* The answer could not be sent: nobody will acknowledge it. It is gone from the
 * handle, of which it keeps a reference for a while. [any thread] */
void hg_overflow_unsent(struct hg_handle *handle);

/* The answer has been sent, or acknowledged. true: both. */
bool hg_overflow_part_ended(struct hg_overflow *overflow);

/* Asks to end what is under way for a handle's arguments; the same for input
 * alone that is being fetched. The lock of progress is held. */
void hg_overflow_cancel(struct hg_handle *handle);
void hg_overflow_cancel_fetch(struct hg_handle *handle);

#endif /* HG_OVERFLOW_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Rendezvous: a payload too large for a message. The sender keeps the encoded
 * arguments in registered memory, and the message contains a reference to it.
 * The receiver fetches them by a bulk transfer. header.h has the wire format.
 * This file knows neither handles nor sides of calls.
 *
 * The memory ends with a validity cookie, which the sender clears before it
 * deregisters the memory. If the cookie is there, all bytes were fetched in time,
 * also on transports that can still read memory after it was deregistered: those
 * read the end last, or fail the get if the memory was deregistered meanwhile. */
#ifndef HG_RENDEZVOUS_H
#define HG_RENDEZVOUS_H

#include "hg/header.h"
#include "hg/hold.h"
#include "hg/message.h"
#include "mercury_types.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hg_addr;
struct hg_bulk;
struct hg_context;

/* Called when a fetch has ended. In progress. */
typedef void hg_rendezvous_done(void *arg, hg_return_t ret);

struct hg_rendezvous {
    struct hg_extra extra; /* first: hg_rendezvous_of casts */
    struct hg_context *context;
    _Atomic int32_t refs; /* messages that share it */
    bool borrowed;        /* the program owns extra.data */
    bool withdrawn;       /* by the sender, before all was fetched */
    uint64_t validity;    /* the cookie at the memory's end */
    struct hg_bulk *bulk; /* exposed or fetched into, or NULL */
    hg_op_id_t transfer;  /* of the fetch, HG_OP_ID_NULL before it */
    struct hg_hold hold;
    hg_rendezvous_done *done;
    void *arg;
};

/* Encoded arguments, in memory from malloc with space for the cookie behind
 * them. */
struct hg_rendezvous_buffer {
    char *data;
    size_t size;      /* of the arguments */
    size_t allocated; /* of the memory */
    bool borrowed;    /* the program frees it */
};

/* The call that a payload belongs to. */
struct hg_rendezvous_use {
    struct hg_context *context;
    struct hg_addr *peer;
    uint8_t peer_context; /* id */
    bool counted;         /* against the limit of the peer */
    bool remote;          /* the peer fetches the payload; else it shares it */
    size_t buffers;       /* bytes that the call uses in addition */
};

/* Takes over encoded arguments, also if it fails: then it frees them.
 * *rendezvous_p has one reference, which the caller drops. NOMEM, or as
 * hg_hold_take. [any thread] */
hg_return_t hg_rendezvous_keep(const struct hg_rendezvous_use *use,
    const struct hg_rendezvous_buffer *buffer,
    struct hg_rendezvous **rendezvous_p);

/* Registers the memory and writes the reference to it into at most `room`
 * bytes; *size_p: bytes written. tag, cookie: of the acknowledgement. OVERFLOW:
 * room is too small; or as HG_Bulk_create. [any thread] */
hg_return_t hg_rendezvous_expose(struct hg_rendezvous *rendezvous, uint32_t tag,
    uint32_t cookie, char *bytes, size_t room, hg_size_t *size_p);

/* Deregisters the memory, so that the peer can't fetch from it. May be called
 * again. [any thread] */
void hg_rendezvous_withdraw(struct hg_rendezvous *rendezvous);

/* Creates a rendezvous to fetch into, with one reference; NULL: no memory. */
struct hg_rendezvous *hg_rendezvous_create(struct hg_context *context);

/* Fetches the payload of a reference of `length` bytes (the caller reads its
 * tag and cookie). Calls `done` once, perhaps before this returns, with
 * SUCCESS; PROTOCOL_ERROR: malformed reference; CANCELED, with `withdrawn` if
 * the sender withdrew it; NOMEM; an error of hg_hold_take or of the transfer.
 * In progress. */
void hg_rendezvous_fetch(struct hg_rendezvous *rendezvous,
    const struct hg_rendezvous_use *use, const char *bytes, size_t length,
    hg_rendezvous_done *done, void *arg);

/* Returns the rendezvous of a message with an extra payload. */
static inline struct hg_rendezvous *
hg_rendezvous_of(const struct hg_message *message)
{
    return (struct hg_rendezvous *) message->extra;
}

/* Lets another message of this process share the payload of a message. */
static inline void
hg_rendezvous_share(const struct hg_message *message, struct hg_message *other)
{
    atomic_fetch_add_explicit(
        &hg_rendezvous_of(message)->refs, 1, memory_order_relaxed);
    other->extra = message->extra;
}

#endif /* HG_RENDEZVOUS_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A payload that a message has no room for: encoded arguments or results. The
 * sender keeps them in registered memory, and the message carries a reference to
 * it; the receiver fetches them by a bulk transfer. header.h has the form on the
 * wire. Knows neither handles nor the sides of a call.
 *
 * The memory ends with a validity cookie, which the sender clears before it
 * deregisters the memory. The receiver fetches the end last: if it finds the
 * announced cookie there, it has fetched all bytes in time, also over transports
 * that go on reading memory that is not registered any more.
 */
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

/* A fetch has ended. In progress. */
typedef void hg_rendezvous_done(void *arg, hg_return_t ret);

struct hg_rendezvous {
    struct hg_extra extra; /* first: of the messages that share it */
    struct hg_context *context;
    _Atomic int32_t refs; /* messages that share it */
    bool borrowed;        /* extra.data are the program's */
    bool withdrawn;       /* by the sender, before all was fetched */
    uint64_t validity;    /* the cookie at the memory's end */
    struct hg_bulk *bulk; /* exposed, or being fetched into; or NULL */
    hg_op_id_t transfer;  /* of a fetch, HG_OP_ID_NULL before it starts */
    struct hg_hold hold;
    hg_rendezvous_done *done;
    void *arg;
};

/* What a payload of a call is made for. */
struct hg_rendezvous_use {
    struct hg_context *context;
    struct hg_addr *peer;
    uint8_t peer_context; /* id */
    bool counted;         /* against the peer; else this process asked for it */
    size_t buffers;       /* bytes that the call holds beside it */
};

/* Takes over what encoding has left in the extra buffer of a proc, in
 * *rendezvous_p with one reference, for the caller to drop. remote: a peer will
 * fetch it. Otherwise it becomes independent of memory of the program. NOMEM, or
 * as hg_hold_take. [any thread] */
hg_return_t hg_rendezvous_keep(const struct hg_rendezvous_use *use,
    struct hg_proc *proc, bool remote, struct hg_rendezvous **rendezvous_p);

/* Registers the memory and writes the reference to it into room bytes; *size_p:
 * those it takes. tag, cookie: of the acknowledgement. OVERFLOW: room does not
 * suffice; or as HG_Bulk_create. [any thread] */
hg_return_t hg_rendezvous_expose(struct hg_rendezvous *rendezvous, uint32_t tag,
    uint32_t cookie, char *bytes, size_t room, hg_size_t *size_p);

/* The peer is to fetch no more. May be called again. [any thread] */
void hg_rendezvous_withdraw(struct hg_rendezvous *rendezvous);

/* Makes one to fetch into, with one reference; NULL: no memory. */
struct hg_rendezvous *hg_rendezvous_create(struct hg_context *context);

/* Fetches what a reference of length bytes names (its tag and cookie are the
 * caller's to read). `done` is called once, perhaps before this returns, with
 * SUCCESS; PROTOCOL_ERROR: the reference is malformed; CANCELED, with `withdrawn`
 * if the sender withdrew it; NOMEM; as hg_hold_take; or as the transfer. In
 * progress. */
void hg_rendezvous_fetch(struct hg_rendezvous *rendezvous,
    const struct hg_rendezvous_use *use, const char *bytes, size_t length,
    hg_rendezvous_done *done, void *arg);

/* That of a message whose extra payload this file made. */
static inline struct hg_rendezvous *
hg_rendezvous_of(const struct hg_message *message)
{
    return (struct hg_rendezvous *) message->extra;
}

/* Makes a message share the payload of another one of this process. */
static inline void
hg_rendezvous_share(const struct hg_message *message, struct hg_message *other)
{
    atomic_fetch_add_explicit(
        &hg_rendezvous_of(message)->refs, 1, memory_order_relaxed);
    other->extra = message->extra;
}

#endif /* HG_RENDEZVOUS_H */

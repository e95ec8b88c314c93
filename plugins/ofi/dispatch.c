/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that have arrived: checked, and delivered to their contexts. */
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "cross.h"
#include "dispatch.h"
#include "endpoints.h"
#include "header.h"
#include "liveness.h"
#include "match.h"
#include "ofi.h"
#include "peer.h"
#include "receive.h"
#include "reject.h"
#include "route.h"
#include "send.h"
#include "work.h"

static uint64_t
longest(const struct ofi_endpoint *ep, uint8_t kind)
{
    return kind == OFI_HEADER_UNEXPECTED ? ep->cls->max_unexpected
                                         : ep->cls->max_expected;
}

/* A name in a header. False: it is malformed. */
static inline bool
read_name(const struct ofi_endpoint *ep, const unsigned char *bytes,
    struct ofi_name *name)
{
    name->length = bytes[0];
    if (!ofi_name_check(ep->cls->trait, bytes + 1, name->length) ||
        (ep->cls->trait->format == OFI_FORMAT_IP &&
            name->length != ep->own_name.length))
        return false;
    memcpy(name->bytes, bytes + 1, name->length);
    return true;
}

/* The sender, where its or this endpoint is not the first one: bytes is where
 * the name of its endpoint is. */
static __attribute__((noinline)) bool
read_part(struct ofi_endpoint *ep, const unsigned char *bytes,
    const struct ofi_name *name, struct ofi_message *message)
{
    struct ofi_name end;

    if (bytes[0] != 0 &&
        (message->header.source_ctx == 0 || !read_name(ep, bytes, &end)))
        return false;
    message->from = ofi_route_sender(
        ep, name, &message->header, bytes[0] != 0 ? &end : NULL);
    return true;
}

/* Whether a name in a header is this one. */
static inline bool
is_name(const unsigned char *bytes, const struct ofi_name *name)
{
    if (bytes[0] != name->length)
        return false;
    if (__builtin_expect(name->length == OFI_NAME_IPV4, 1))
        return memcmp(bytes + 1, name->bytes, OFI_NAME_IPV4) == 0;
    return memcmp(bytes + 1, name->bytes, name->length) == 0;
}

/* The sender if it is the one that sent last of those with this slot: without
 * hashing and comparing in the table. The number of a class is random. */
static inline struct ofi_peer *
recent_sender(
    const struct ofi_endpoint *ep, const unsigned char *bytes, uint64_t number)
{
    struct ofi_peer *peer = ep->senders[number % OFI_SENDERS];

    return peer != NULL && peer->number == number &&
                   is_name(bytes, &peer->addr->name) && bytes[1 + bytes[0]] == 0
               ? peer
               : NULL;
}

/* The sender, by the names in a header at bytes. */
static __attribute__((noinline)) bool
read_names(struct ofi_endpoint *ep, const unsigned char *bytes,
    struct ofi_message *message)
{
    struct ofi_name name;

    if (!read_name(ep, bytes, &name))
        return false;
    bytes += 1 + name.length;
    if (__builtin_expect(bytes[0] != 0 || !ofi_is_first(ep), 0))
        return read_part(ep, bytes, &name, message);
    message->from = ofi_peer_get(ep, &name, 0);
    ep->senders[message->header.source % OFI_SENDERS] = message->from;
    return true;
}

/* The sender; message.from is NULL if there is no memory. False: the names in
 * the header are malformed. */
static inline bool
read_sender(struct ofi_endpoint *ep, const unsigned char *data,
    struct ofi_message *message)
{
    const unsigned char *bytes = data + OFI_HEADER_NAME - 1;

    message->from = recent_sender(ep, bytes, message->header.source);
    if (__builtin_expect(message->from != NULL, 1)) {
        message->from->used = true;
        return true;
    }
    return read_names(ep, bytes, message);
}

/* What is for the plugin itself. */
static __attribute__((noinline)) void
take_control(struct ofi_endpoint *ep, const struct ofi_message *message)
{
    switch (message->header.kind) {
    case OFI_HEADER_PING:
        message->from->pinged = message->header.tag;
        ofi_send_pong(ep, message->from);
        break;
    case OFI_HEADER_PONG:
        message->from->answered = message->header.tag;
        break;
    case OFI_HEADER_FLUSH:
        break;
    case OFI_HEADER_ENDPOINT:
        ofi_route_learn(ep, message);
        break;
    default:
        ofi_reject(ep, "it is of an unknown kind");
    }
}

/* What is for a context. True: its rx stays in use. */
static inline bool
take_message(struct ofi_endpoint *ep, const struct ofi_message *message)
{
    ep->counters.received++;
    if (message->length > longest(ep, message->header.kind)) {
        ofi_reject(ep, "it is longer than this class's longest");
        return false;
    }
    if (message->header.target == 0 ||
        message->header.target == ep->cls->number)
        return ofi_match_deliver(ep, message);
    ep->counters.strayed++;
    return false;
}

/* A message of the provider's. True: its rx stays in use. */
static inline __attribute__((always_inline)) bool
dispatch(struct ofi_endpoint *ep, struct ofi_rx *rx, const unsigned char *data,
    uint64_t length)
{
    struct ofi_message message = {.rx = rx};
    bool kept = false;

    if (!ofi_header_read(data, length, &message.header, &message.before) ||
        !read_sender(ep, data, &message)) {
        ofi_foreign_reject(ep, data, length);
        return false;
    }
    if (message.from == NULL) {
        ofi_reject_lost(ep, length);
        return false;
    }
    message.data = data + message.before;
    message.length = (uint32_t) (length - message.before);
    if (message.from->addr->self)
        ofi_reject(ep, "its sender claims to be this class");
    else if (!ofi_liveness_heard(ep, message.from, message.header.source))
        ep->counters.strayed++;
    else if (message.header.kind == OFI_HEADER_UNEXPECTED ||
             message.header.kind == OFI_HEADER_EXPECTED)
        kept = take_message(ep, &message);
    else
        take_control(ep, &message);
    return kept;
}

void
ofi_dispatch_one(struct ofi_endpoint *ep, struct ofi_work *work,
    const struct fi_cq_data_entry *entry, int error)
{
    struct ofi_rx *rx = TP_OBJECT(work, struct ofi_rx, work);
    uint64_t length = entry->len;

    if (error == 0 && length <= ep->rx_room) {
        if (dispatch(ep, rx, rx->data, length))
            return;
    } else if (error != FI_ECANCELED)
        ofi_reject(ep, error == 0 ? "it is longer than its buffer"
                                  : ofi_library.strerror(error));
    ofi_rx_post(ep, rx);
}

void
ofi_dispatch(struct ofi_endpoint *ep, struct ofi_rx *rx,
    const unsigned char *data, uint64_t length)
{
    dispatch(ep, rx, data, length);
}

void
ofi_dispatch_many(struct ofi_endpoint *ep, struct ofi_work *work,
    const struct fi_cq_data_entry *entry, int error)
{
    struct ofi_rx *rx = TP_OBJECT(work, struct ofi_rx, work);
    size_t bytes = ofi_rx_multi_bytes(ep);
    uintptr_t offset = (uintptr_t) entry->buf - (uintptr_t) rx->data;

    if (error != 0) {
        if (error != FI_ECANCELED)
            ofi_reject(ep, ofi_library.strerror(error));
    } else if (entry->len != 0) {
        if (entry->len > bytes || offset > bytes - entry->len)
            ofi_reject(ep, "completion outside of its buffer");
        else
            dispatch(ep, rx, entry->buf, entry->len);
    }
    if (entry->flags & FI_MULTI_RECV) {
        rx->released = true;
        if (rx->left == 0)
            ofi_rx_post(ep, rx);
    }
}

/* FROM OTHER ENDPOINTS OF THE CLASS */

static void
deliver(struct ofi_endpoint *ep, const struct ofi_cross_message *crossed)
{
    struct ofi_message message = {.header = crossed->header,
        .from = ep->self,
        .data = crossed->data,
        .length = crossed->length};

    if (!crossed->from->self)
        message.from =
            ofi_route_sender(ep, &crossed->from->name, &crossed->header,
                crossed->name.length != 0 ? &crossed->name : NULL);
    if (message.from != NULL &&
        (crossed->from->self ||
            ofi_liveness_heard(ep, message.from, crossed->header.source)))
        ofi_match_deliver(ep, &message);
    else
        ep->counters.strayed++;
}

void
ofi_dispatch_cross(struct ofi_endpoint *ep)
{
    struct ofi_cross_message *message;

    while ((message = ofi_cross_take(ep)) != NULL) {
        deliver(ep, message);
        ofi_cross_free(ep, message);
    }
}

/* FOR OTHER ENDPOINTS OF THE CLASS */

/* A message for another endpoint. False: there is no room for it. */
static bool
give(struct ofi_endpoint *first, struct ofi_endpoint *other,
    const struct ofi_message *message)
{
    if (!ofi_cross_append(other, message))
        return false;
    first->counters.forwarded++;
    ofi_send_endpoint(first, message->from, other);
    return true;
}

bool
ofi_forward(struct ofi_endpoint *first, const struct ofi_message *message)
{
    if (give(first, ofi_endpoint_of(first->cls, message->header.target_ctx),
            message))
        return false;
    struct tp_kept *kept = ofi_rx_keep(first, message->rx);
    kept->keyed.owner = message->from;
    message->from->refs++;
    kept->data = message->data - message->before;
    kept->length = message->before + message->length;
    tp_list_append(&first->detained, &kept->by_age);
    return true;
}

/* Gives a detained message to its endpoint, or drops it if there is none. False:
 * the endpoint still has no room. */
static bool
release(struct ofi_endpoint *first, const struct tp_kept *kept,
    struct ofi_peer *from)
{
    struct ofi_message message = {.from = from};

    if (!ofi_header_read(
            kept->data, kept->length, &message.header, &message.before))
        return true; /* it was read before */
    struct ofi_endpoint *other =
        ofi_endpoint_of(first->cls, message.header.target_ctx);
    message.data = (const unsigned char *) kept->data + message.before;
    message.length = kept->length - message.before;
    if (other == NULL)
        first->counters.strayed++;
    return other == NULL || give(first, other, &message);
}

void
ofi_forward_retry(struct ofi_endpoint *first)
{
    struct tp_link *next = NULL;

    for (struct tp_link *link = first->detained.head; link != NULL;
         link = next) {
        struct tp_kept *kept = TP_OBJECT(link, struct tp_kept, by_age);
        next = link->next;
        struct ofi_peer *from = (void *) (uintptr_t) kept->keyed.owner;
        if (!release(first, kept, from))
            continue;
        tp_list_remove(&first->detained, link);
        from->refs--;
        ofi_rx_forget(first, kept);
    }
}

bool
ofi_forward_own(struct ofi_endpoint *ep, const struct ofi_message *message)
{
    uint32_t id = message->header.target_ctx;
    struct ofi_endpoint *target = ofi_endpoint_of(ep->cls, id);

    if (target == NULL) {
        ep->counters.strayed++;
        return true;
    }
    return ofi_cross_append(target, message);
}

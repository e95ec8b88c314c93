/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that have arrived: checked, and brought to whom they are for. */
#include <stdlib.h>
#include <string.h>

#include "addr.h"
#include "address.h"
#include "dispatch.h"
#include "foreign.h"
#include "header.h"
#include "inbox.h"
#include "liveness.h"
#include "match.h"
#include "message.h"
#include "multi.h"
#include "ofi.h"
#include "receive.h"
#include "reject.h"
#include "route.h"
#include "rx.h"
#include "send.h"

static uint64_t
longest(const struct ofi_endpoint *ep, uint8_t kind)
{
    return kind == OFI_HEADER_UNEXPECTED ? ep->cls->max_unexpected
                                         : ep->cls->max_expected;
}

/* A name in a header. False: it can't be one. */
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

/* The sender, where its or this endpoint is not the first one: bytes is where the name of its
 * endpoint stands. */
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

/* Who sends, by the names in a header; message.from is NULL if there is no
 * memory. False: they can't be. */
static inline bool
read_sender(struct ofi_endpoint *ep, const unsigned char *data,
    struct ofi_message *message)
{
    const unsigned char *bytes = data + OFI_HEADER_NAME - 1;
    struct ofi_name name;

    if (!read_name(ep, bytes, &name))
        return false;
    bytes += 1 + name.length;
    if (__builtin_expect(bytes[0] != 0 || !ofi_is_first(ep), 0))
        return read_part(ep, bytes, &name, message);
    message->from = ofi_addr_get(ep, &name);
    return true;
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
    case OFI_HEADER_FENCE:
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
static inline bool
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
    if (message.from->of->self)
        ofi_reject(ep, "its sender claims to be this class");
    else if (!ofi_liveness_heard(ep, message.from, message.header.source))
        ep->counters.strayed++;
    else if (message.header.kind == OFI_HEADER_UNEXPECTED ||
             message.header.kind == OFI_HEADER_EXPECTED)
        kept = take_message(ep, &message);
    else
        take_control(ep, &message);
    ofi_addr_drop(ep, message.from);
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
    size_t bytes;
    ofi_multi_size(ep, &bytes);
    uintptr_t offset = (uintptr_t) entry->buf - (uintptr_t) rx->data;

    if (error != 0) {
        if (error != FI_ECANCELED)
            ofi_reject(ep, ofi_library.strerror(error));
    } else if (entry->len != 0) {
        if (entry->len > bytes || offset > bytes - entry->len)
            ofi_reject(ep, "it does not lie in its buffer");
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

static na_plugin_addr *
sender_of(struct ofi_endpoint *ep, const struct ofi_parcel *parcel)
{
    if (parcel->name.length != 0)
        return ofi_route_sender(ep, &parcel->name, &parcel->header,
            parcel->end.length != 0 ? &parcel->end : NULL);
    ofi_addr_hold(ep->self);
    return ep->self;
}

static void
deliver(struct ofi_endpoint *ep, const struct ofi_parcel *parcel)
{
    struct ofi_message message = {.header = parcel->header,
        .from = sender_of(ep, parcel),
        .data = parcel->data,
        .length = parcel->length};

    if (message.from == NULL) {
        ep->counters.strayed++;
        return;
    }
    if (message.from->self ||
        ofi_liveness_heard(ep, message.from, parcel->header.source))
        ofi_match_deliver(ep, &message);
    else
        ep->counters.strayed++;
    ofi_addr_drop(ep, message.from);
}

void
ofi_dispatch_inbox(struct ofi_endpoint *ep)
{
    struct ofi_parcel *parcel = NULL;

    while ((parcel = ofi_inbox_take(ep)) != NULL) {
        deliver(ep, parcel);
        free(parcel);
    }
}

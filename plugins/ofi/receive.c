/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving: buffers of the plugin's, so that a message which nobody waits for
 * never stands in the way of those behind it. */
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "fabric.h"
#include "foreign.h"
#include "header.h"
#include "match.h"
#include "multi.h"
#include "name.h"
#include "pages.h"
#include "peer.h"
#include "receive.h"
#include "route.h"
#include "send.h"

#define BYTES (1U << 20) /* of all buffers, within these numbers */
#define COUNT_MOST 64U
#define COUNT_LEAST 8U

/* How many buffers of how many bytes. */
static uint32_t
size_buffers(const na_plugin_class *cls, size_t *stride_p)
{
    if (cls->rx_multi)
        return ofi_multi_size(cls, stride_p);
    *stride_p = (cls->rx_room + 63) & ~(size_t) 63;
    uint32_t count = (uint32_t) (BYTES / *stride_p);
    count = count > COUNT_MOST ? COUNT_MOST : count;
    return count < COUNT_LEAST ? COUNT_LEAST : count;
}

int32_t
ofi_rx_init(na_plugin_class *cls)
{
    size_t stride = 0;

    cls->rx_room =
        ofi_header_length(OFI_NAME_MAX, OFI_NAME_MAX) +
        (cls->max_unexpected > cls->max_expected ? cls->max_unexpected
                                                 : cls->max_expected);
    ofi_multi_choose(cls);
    uint32_t count = size_buffers(cls, &stride);

    cls->rxs = calloc(count, sizeof(*cls->rxs));
    cls->rx_memory = ofi_pages_new(stride * count);
    cls->rx_bytes = stride * count;
    if (cls->rxs == NULL || cls->rx_memory == NULL) {
        OFI_LOG(cls->host, ERROR, "no memory for %u buffers of %zu bytes",
            count, stride);
        return NA_PLUGIN_E_NOMEM;
    }
    if (cls->local_mr) {
        int32_t ret = ofi_fabric_register(cls, cls->rx_memory, stride * count,
            FI_SEND | FI_RECV, &cls->rx_mr);
        if (ret != NA_PLUGIN_OK)
            return ret;
    }
    cls->rx_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct ofi_rx *rx = &cls->rxs[i];
        rx->work.kind = cls->rx_multi ? OFI_WORK_MULTI : OFI_WORK_RX;
        rx->data = cls->rx_memory + stride * i;
        rx->desc = cls->rx_mr != NULL ? fi_mr_desc(cls->rx_mr) : NULL;
        ofi_rx_post(cls, rx);
    }
    return NA_PLUGIN_OK;
}

void
ofi_rx_fini(na_plugin_class *cls)
{
    if (cls->rx_mr != NULL)
        fi_close(&cls->rx_mr->fid);
    ofi_pages_free(cls->rx_memory, cls->rx_bytes);
    free(cls->rxs);
    ofi_multi_fini(cls);
}

static inline ssize_t
post(na_plugin_class *cls, struct ofi_rx *rx)
{
    if (__builtin_expect(rx->work.kind == OFI_WORK_MULTI, 0))
        return ofi_multi_post(cls, rx);
    return fi_recv(cls->ep, rx->data, cls->rx_room, rx->desc, FI_ADDR_UNSPEC,
        &rx->work.fi);
}

void
ofi_rx_post(na_plugin_class *cls, struct ofi_rx *rx)
{
    if (cls->ep == NULL || post(cls, rx) != 0)
        ofi_list_append(&cls->unposted, &rx->link);
}

struct ofi_kept *
ofi_rx_keep(na_plugin_class *cls, struct ofi_rx *rx)
{
    struct ofi_kept *kept =
        rx->work.kind == OFI_WORK_MULTI ? ofi_multi_keep(cls, rx) : &rx->kept;

    kept->rx = rx;
    return kept;
}

void
ofi_rx_forget(na_plugin_class *cls, struct ofi_kept *kept)
{
    if (kept->rx->work.kind == OFI_WORK_MULTI)
        ofi_multi_forget(cls, kept);
    else
        ofi_rx_post(cls, kept->rx);
}

void
ofi_rx_retry(na_plugin_class *cls)
{
    struct ofi_list list = cls->unposted;
    struct ofi_link *link = NULL;

    cls->unposted = (struct ofi_list){0};
    while ((link = ofi_list_pop(&list)) != NULL)
        ofi_rx_post(cls, OFI_OBJECT(link, struct ofi_rx, link));
}

/* What is no message of this plugin's; said once at a time, not for each. */
void
ofi_rx_reject(na_plugin_class *cls, const char *why)
{
    uint64_t count = cls->counters.malformed++;

    if ((count & (count + 1)) == 0)
        OFI_LOG(cls->host, WARNING,
            "a message was dropped, number %llu of its kind: %s",
            (unsigned long long) count + 1, why);
}

/* Logged like a rejected message: memory may be short for a while. */
void
ofi_rx_lose(na_plugin_class *cls, uint64_t length)
{
    uint64_t count = cls->counters.no_memory++;

    if ((count & (count + 1)) == 0)
        OFI_LOG(cls->host, ERROR,
            "out of memory: a message of %llu bytes is lost, number %llu of "
            "its kind",
            (unsigned long long) length, (unsigned long long) count + 1);
}

static uint64_t
longest(const na_plugin_class *cls, uint8_t kind)
{
    return kind == OFI_HEADER_UNEXPECTED ? cls->max_unexpected
                                         : cls->max_expected;
}

/* A name in a header. False: it can't be one. */
static inline bool
read_name(const na_plugin_class *cls, const unsigned char *bytes,
    struct ofi_name *name)
{
    name->length = bytes[0];
    if (!ofi_name_check(cls->trait, bytes + 1, name->length) ||
        (cls->trait->format == OFI_FORMAT_IP &&
            name->length != cls->own_name.length))
        return false;
    memcpy(name->bytes, bytes + 1, name->length);
    return true;
}

/* The sender, where it or this class is a lane: bytes is where the name of its
 * endpoint stands. */
static __attribute__((noinline)) bool
read_part(na_plugin_class *cls, const unsigned char *bytes,
    const struct ofi_name *name, struct ofi_message *message)
{
    struct ofi_name end;

    if (bytes[0] != 0 &&
        (message->header.source_ctx == 0 || !read_name(cls, bytes, &end)))
        return false;
    message->from = ofi_route_sender(
        cls, name, &message->header, bytes[0] != 0 ? &end : NULL);
    return true;
}

/* Who sends, by the names in a header; message.from is NULL if there is no
 * memory. False: they can't be. */
static inline bool
read_sender(na_plugin_class *cls, const unsigned char *data,
    struct ofi_message *message)
{
    const unsigned char *bytes = data + OFI_HEADER_NAME - 1;
    struct ofi_name name;

    if (!read_name(cls, bytes, &name))
        return false;
    bytes += 1 + name.length;
    if (__builtin_expect(bytes[0] != 0 || cls->main != cls, 0))
        return read_part(cls, bytes, &name, message);
    message->from = ofi_addr_get(cls, &name);
    return true;
}

/* What is for the plugin itself. */
static __attribute__((noinline)) void
take_control(na_plugin_class *cls, const struct ofi_message *message)
{
    switch (message->header.kind) {
    case OFI_HEADER_PING:
        message->from->pinged = message->header.tag;
        ofi_send_pong(cls, message->from);
        break;
    case OFI_HEADER_PONG:
        message->from->answered = message->header.tag;
        break;
    case OFI_HEADER_FENCE:
        break;
    case OFI_HEADER_LANE:
        ofi_route_learn(cls, message);
        break;
    default:
        ofi_rx_reject(cls, "it is of an unknown kind");
    }
}

/* What is for a context. True: its rx stays in use. */
static inline bool
take_message(na_plugin_class *cls, const struct ofi_message *message)
{
    cls->counters.received++;
    if (message->length > longest(cls, message->header.kind)) {
        ofi_rx_reject(cls, "it is longer than this class's longest");
        return false;
    }
    if (message->header.target == 0 || message->header.target == cls->number)
        return ofi_match_deliver(cls, message);
    cls->counters.strayed++;
    return false;
}

/* A message of the provider's. True: its rx stays in use. */
static inline bool
dispatch(na_plugin_class *cls, struct ofi_rx *rx, const unsigned char *data,
    uint64_t length)
{
    struct ofi_message message = {.rx = rx};
    bool kept = false;

    if (!ofi_header_read(data, length, &message.header, &message.before) ||
        !read_sender(cls, data, &message)) {
        ofi_foreign_reject(cls, data, length);
        return false;
    }
    if (message.from == NULL) {
        ofi_rx_lose(cls, length);
        return false;
    }
    message.data = data + message.before;
    message.length = (uint32_t) (length - message.before);
    if (message.from->of->self)
        ofi_rx_reject(cls, "its sender claims to be this class");
    else if (!ofi_peer_heard(cls, message.from, message.header.source))
        cls->counters.strayed++;
    else if (message.header.kind == OFI_HEADER_UNEXPECTED ||
             message.header.kind == OFI_HEADER_EXPECTED)
        kept = take_message(cls, &message);
    else
        take_control(cls, &message);
    ofi_addr_drop(cls, message.from);
    return kept;
}

void
ofi_rx_done(na_plugin_class *cls, struct ofi_rx *rx, uint64_t length, int error)
{
    if (error == 0 && length <= cls->rx_room) {
        if (dispatch(cls, rx, rx->data, length))
            return;
    } else if (error != FI_ECANCELED)
        ofi_rx_reject(cls, error == 0 ? "it is longer than its buffer"
                                      : ofi_library.strerror(error));
    ofi_rx_post(cls, rx);
}

void
ofi_rx_dispatch(na_plugin_class *cls, struct ofi_rx *rx,
    const unsigned char *data, uint64_t length)
{
    dispatch(cls, rx, data, length);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Payloads too large for a message: keeping, exposing and fetching them. */
#include "hg/rendezvous.h"

#include "base/log.h"
#include "base/time.h"
#include "bulk/op.h"
#include "hg/context.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define VALIDITY_SIZE sizeof(uint64_t)

_Static_assert(VALIDITY_SIZE <= PROC_EXTRA_TAIL, "it fits behind the payload");

static void
release(struct hg_extra *extra)
{
    struct hg_rendezvous *rendezvous = (struct hg_rendezvous *) extra;

    /* Release and acquire: uses through other messages come before it is freed.
     */
    if (atomic_fetch_sub_explicit(&rendezvous->refs, 1, memory_order_acq_rel) !=
        1)
        return;
    hg_rendezvous_withdraw(rendezvous);
    if (rendezvous->hold.bytes > 0)
        hg_hold_release(&rendezvous->hold, &rendezvous->context->holds);
    if (!rendezvous->borrowed)
        free(extra->data);
    free(rendezvous);
}

struct hg_rendezvous *
hg_rendezvous_create(struct hg_context *context)
{
    struct hg_rendezvous *rendezvous = calloc(1, sizeof *rendezvous);

    if (!rendezvous)
        return NULL;
    rendezvous->extra.release = release;
    rendezvous->context = context;
    atomic_init(&rendezvous->refs, 1);
    return rendezvous;
}

void
hg_rendezvous_withdraw(struct hg_rendezvous *rendezvous)
{
    if (!rendezvous->bulk)
        return;
    memset(rendezvous->extra.data + rendezvous->extra.size, 0, VALIDITY_SIZE);
    HG_Bulk_free(rendezvous->bulk);
    rendezvous->bulk = NULL;
}

/* Puts a cookie behind the payload that is not 0 and differs from that of
 * earlier payloads in the same memory. */
static void
make_valid(struct hg_rendezvous *rendezvous)
{
    uint64_t mix = base_time_now() ^ (uint64_t) (uintptr_t) rendezvous << 20;
    uint64_t wire;

    /* 2^64 / the golden ratio */
    rendezvous->validity = (mix * 0x9e3779b97f4a7c15U) | 1;
    wire = htole64(rendezvous->validity);
    memcpy(
        rendezvous->extra.data + rendezvous->extra.size, &wire, VALIDITY_SIZE);
}

/* Copies borrowed bytes: the other message of this process may need them longer
 * than the program keeps them. */
static hg_return_t
unborrow(struct hg_rendezvous *rendezvous)
{
    struct hg_extra *extra = &rendezvous->extra;
    char *data;

    if (!rendezvous->borrowed)
        return HG_SUCCESS;
    data = malloc(extra->size);
    if (!data)
        return HG_NOMEM;
    memcpy(data, extra->data, extra->size);
    extra->data = data;
    rendezvous->borrowed = false;
    return HG_SUCCESS;
}

static hg_return_t
hold(struct hg_rendezvous *rendezvous, const struct hg_rendezvous_use *use,
    size_t size)
{
    return hg_hold_take(&rendezvous->hold, &use->context->holds,
        use->counted ? use->peer : NULL, size, use->buffers);
}

hg_return_t
hg_rendezvous_keep(const struct hg_rendezvous_use *use,
    const struct hg_rendezvous_buffer *buffer,
    struct hg_rendezvous **rendezvous_p)
{
    struct hg_rendezvous *rendezvous = hg_rendezvous_create(use->context);
    hg_return_t ret = HG_SUCCESS;

    if (!rendezvous) {
        if (!buffer->borrowed)
            free(buffer->data);
        return HG_NOMEM;
    }
    rendezvous->extra.data = buffer->data;
    rendezvous->extra.size = buffer->size;
    rendezvous->borrowed = buffer->borrowed;
    if (!use->remote)
        ret = unborrow(rendezvous);
    /* The peer may never acknowledge the response. */
    else if (use->counted)
        ret = hold(rendezvous, use, buffer->allocated);
    if (ret != HG_SUCCESS)
        release(&rendezvous->extra);
    else
        *rendezvous_p = rendezvous;
    return ret;
}

hg_return_t
hg_rendezvous_expose(struct hg_rendezvous *rendezvous, uint32_t tag,
    uint32_t cookie, char *bytes, size_t room, hg_size_t *size_p)
{
    struct hg_header_more more = {.tag = tag, .cookie = cookie};
    hg_size_t size = rendezvous->extra.size + VALIDITY_SIZE, length;
    void *data = rendezvous->extra.data;
    hg_return_t ret;

    make_valid(rendezvous);
    more.validity = rendezvous->validity;
    ret = HG_Bulk_create(rendezvous->context->hg_class, 1, &data, &size,
        HG_BULK_READ_ONLY, &rendezvous->bulk);
    if (ret != HG_SUCCESS)
        return ret;
    length = HG_Bulk_get_serialize_size(rendezvous->bulk, 0);
    if (length + HG_HEADER_MORE_SIZE > room) {
        LOG_ERROR(HG,
            "the reference to %zu bytes of encoded arguments exceeds the %zu "
            "bytes of the message",
            rendezvous->extra.size, room);
        return HG_OVERFLOW;
    }
    hg_header_more_encode(bytes, &more);
    *size_p = HG_HEADER_MORE_SIZE + length;
    return HG_Bulk_serialize(
        bytes + HG_HEADER_MORE_SIZE, length, 0, rendezvous->bulk);
}

static bool
is_valid(const struct hg_rendezvous *rendezvous)
{
    uint64_t wire;

    memcpy(
        &wire, rendezvous->extra.data + rendezvous->extra.size, VALIDITY_SIZE);
    return le64toh(wire) == rendezvous->validity;
}

/* The transfer has ended, or could not be started. */
static void
fetched(void *arg, hg_return_t ret)
{
    struct hg_rendezvous *rendezvous = arg;

    rendezvous->transfer = HG_OP_ID_NULL;
    if (ret == HG_SUCCESS && !is_valid(rendezvous)) {
        rendezvous->withdrawn = true;
        ret = HG_CANCELED;
    }
    HG_Bulk_free(rendezvous->bulk);
    rendezvous->bulk = NULL;
    rendezvous->done(rendezvous->arg, ret);
}

/* Allocates memory for the announced payload. */
static hg_return_t
allocate(struct hg_rendezvous *rendezvous, const struct hg_rendezvous_use *use,
    hg_size_t size)
{
    struct hg_context *context = use->context;
    uint64_t most = context->hg_class->limits.overflow_max;
    hg_return_t ret;
    void *data;

    if (size <= VALIDITY_SIZE)
        return HG_PROTOCOL_ERROR;
    if (size > most)
        return hg_hold_refuse(&context->holds, HG_MSGSIZE, size, most);
    ret = hold(rendezvous, use, size);
    if (ret != HG_SUCCESS)
        return ret;
    data = malloc(size);
    if (!data)
        return HG_NOMEM;
    rendezvous->extra.data = data;
    rendezvous->extra.size = size - VALIDITY_SIZE;
    return HG_Bulk_create(context->hg_class, 1, &data, &size,
        HG_BULK_WRITE_ONLY, &rendezvous->bulk);
}

/* Starts the transfer; results as of bulk_transfer_internal. */
static hg_return_t
start(struct hg_rendezvous *rendezvous, const struct hg_rendezvous_use *use,
    const char *bytes, size_t length, bool *pending_p)
{
    struct bulk_request request = {
        .op = HG_BULK_PULL, .origin_id = use->peer_context, .addr = use->peer};
    struct hg_header_more more;
    hg_return_t ret;

    if (length < HG_HEADER_MORE_SIZE)
        return HG_PROTOCOL_ERROR;
    length -= HG_HEADER_MORE_SIZE;
    hg_header_more_decode(bytes, &more);
    rendezvous->validity = more.validity;
    ret = HG_Bulk_deserialize(use->context->hg_class, &request.origin,
        bytes + HG_HEADER_MORE_SIZE, length);
    if (ret != HG_SUCCESS)
        return ret;
    /* The sender writes nothing after the descriptor. */
    if (length != request.origin->wire_size)
        ret = HG_PROTOCOL_ERROR;
    else
        ret = allocate(rendezvous, use, request.origin->size);
    if (ret == HG_SUCCESS) {
        request.local = rendezvous->bulk;
        request.size = request.local->size;
        ret = bulk_transfer_internal(&use->context->bulk, &request, fetched,
            rendezvous, &rendezvous->transfer, pending_p);
    }
    HG_Bulk_free(request.origin);
    return ret;
}

void
hg_rendezvous_fetch(struct hg_rendezvous *rendezvous,
    const struct hg_rendezvous_use *use, const char *bytes, size_t length,
    hg_rendezvous_done *done, void *arg)
{
    bool pending = false;
    hg_return_t ret;

    rendezvous->done = done;
    rendezvous->arg = arg;
    ret = start(rendezvous, use, bytes, length, &pending);
    if (!pending)
        fetched(rendezvous, ret);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Nothing that a peer wrote is believed before it has been looked at here, or, if
 * it is about memory, in target.c. */
#include <inttypes.h>
#include <string.h>

#include "dispatch.h"
#include "engine.h"
#include "message.h"
#include "peer.h"
#include "rma.h"

static bool
well_formed(const struct nampi_wire *head, uint32_t size)
{
    uint32_t payload = size - (uint32_t) sizeof(*head);

    if (head->magic != NAMPI_MAGIC || head->zero != 0 ||
        head->from_ctx >= NAMPI_CONTEXTS || head->to_ctx >= NAMPI_CONTEXTS ||
        head->from_class == 0 || head->from_class > NAMPI_CLASSES ||
        (head->from_life == 0 && head->kind != NAMPI_GONE))
        return false;
    switch (head->kind) {
    case NAMPI_UNEXPECTED:
    case NAMPI_EXPECTED:
        return head->length == payload && payload <= NAMPI_MESSAGE_MAX;
    case NAMPI_PUT:
    case NAMPI_DATA:
        return head->length == payload && payload <= NAMPI_CHUNK;
    case NAMPI_GET:
    case NAMPI_ACK:
        return payload == 0 && head->length <= NAMPI_CHUNK;
    case NAMPI_CREDIT:
        return payload == 0 && head->value <= NAMPI_WINDOW;
    case NAMPI_GONE:
    case NAMPI_BYE:
        return payload == 0;
    default:
        return false;
    }
}

/* Tells a peer that the class it wrote to is not there, or another by now. */
static void
answer_gone(
    struct nampi_engine *engine, int rank, const struct nampi_wire *asked)
{
    if (asked->kind == NAMPI_GONE || asked->kind == NAMPI_BYE)
        return;
    struct nampi_send *send = nampi_send_new(0);
    if (send == NULL)
        return;
    send->head.kind = NAMPI_GONE;
    send->head.from_class = asked->to_class;
    send->head.from_life = asked->to_life;
    send->head.to_class = asked->from_class;
    send->head.to_life = asked->from_life;
    nampi_send_nameless(engine, rank, send);
}

/* The peer that wrote, as far as it is known; one reference. NULL: no memory, or
 * the message is about a class that is gone, and has been taken care of. */
static na_plugin_addr *
sender(na_plugin_class *cls, int rank, const struct nampi_wire *head)
{
    na_plugin_addr *peer;

    if (head->kind == NAMPI_GONE || head->kind == NAMPI_BYE) {
        peer = nampi_peer_find(cls, (uint32_t) rank, head->from_class);
        if (peer != NULL && peer->life == head->from_life)
            nampi_peer_absent(peer);
        return NULL;
    }
    if (nampi_peer_get(cls, (uint32_t) rank, head->from_class, &peer) !=
        NA_PLUGIN_OK) {
        TP_LOG(cls->host, WARNING,
            "no memory for a new peer: a message of rank %d is lost", rank);
        return NULL;
    }
    if (peer->life != head->from_life) {
        if (peer->life != 0)
            nampi_peer_lose(peer);
        peer->life = head->from_life;
    }
    nampi_peer_heard(peer);
    return peer;
}

static na_plugin_class *
class_of(struct tp_link *link)
{
    return TP_OBJECT(link, na_plugin_class, link);
}

static na_plugin_class *
addressed(const struct nampi_engine *engine, uint32_t number)
{
    for (struct tp_link *link = engine->classes.head; link != NULL;
         link = link->next)
        if (class_of(link)->number == number)
            return class_of(link);
    return NULL;
}

/* No class knows what to do with it: the oldest one logs it. */
static void
drop_malformed(const struct nampi_engine *engine, int rank, uint32_t size)
{
    if (engine->classes.head == NULL)
        return;
    na_plugin_class *cls = class_of(engine->classes.head);
    tp_count(&cls->counters.malformed, 1);
    TP_LOG(cls->host, INFO,
        "malformed message of %" PRIu32 " bytes from rank %d, dropped", size,
        rank);
}

static void
take(na_plugin_addr *peer, const struct nampi_wire *head,
    const unsigned char *data)
{
    switch (head->kind) {
    case NAMPI_UNEXPECTED:
    case NAMPI_EXPECTED:
        nampi_message_take(peer, head, data);
        break;
    case NAMPI_CREDIT:
        nampi_peer_credit(peer, head->from_ctx, (uint8_t) head->value);
        break;
    case NAMPI_PUT:
    case NAMPI_GET:
        nampi_target_take(peer, head, data);
        break;
    case NAMPI_ACK:
    case NAMPI_DATA:
        nampi_rma_take(peer, head, data);
        break;
    default:
        break;
    }
}

void
nampi_dispatch(struct nampi_engine *engine, int rank,
    const unsigned char *bytes, uint32_t size)
{
    struct nampi_wire head;

    if (size >= sizeof(head))
        memcpy(&head, bytes, sizeof(head));
    if (size < sizeof(head) || !well_formed(&head, size)) {
        drop_malformed(engine, rank, size);
        return;
    }
    na_plugin_class *cls = addressed(engine, head.to_class);
    if (cls == NULL || (head.to_life != 0 && head.to_life != cls->life)) {
        answer_gone(engine, rank, &head);
        return;
    }
    na_plugin_addr *peer = sender(cls, rank, &head);
    if (peer == NULL)
        return;
    take(peer, &head, bytes + sizeof(head));
    nampi_peer_release(peer);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A channel is a class here and one of another process that have greeted each
 * other. Nothing that a process wrote is believed before it has been looked at
 * here, or by the library. */
#include "channel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#define AGAIN_NS (10 * TP_MS) /* until a peer that is absent is greeted again */

static uint64_t
name_key(uint32_t rank, uint32_t number)
{
    return (uint64_t) rank << 32 | number;
}

/* A number of digits alone; *text_p: what follows. */
static bool
parse(const char **text_p, const char *end, uint32_t least, uint32_t most,
    uint32_t *value_p)
{
    const char *text = *text_p;
    uint64_t value = 0;

    for (; text < end && *text >= '0' && *text <= '9' && value <= most; text++)
        value = value * 10 + (uint64_t) (*text - '0');
    if (text == *text_p || value < least || value > most)
        return false;
    *value_p = (uint32_t) value;
    *text_p = text;
    return true;
}

static void
name(na_plugin_addr *addr, uint32_t rank, uint32_t number)
{
    addr->rank = rank;
    addr->number = number;
    snprintf(addr->base.name, TP_NAME, "%" PRIu32 ":%" PRIu32, rank, number);
}

/* Of a user at level ERROR; of a peer, which may send many, thinned. */
static void
log_refused(na_plugin_class *cls, bool of_user, const char *text, size_t length)
{
    static const char needed[] =
        "is not RANK:NUMBER, with a rank of the job and "
        "a number from 1 to 4095";
    int shown = (int) (length < 100 ? length : 100);

    if (of_user)
        TP_LOG(cls->base.host, ERROR, "\"%.*s\" %s", shown, text, needed);
    else
        TP_LOG_THINNED(cls->base.host, WARNING, tp_count_shared(&cls->names, 1),
            "address of a peer \"%.*s\" %s", shown, text, needed);
}

_Static_assert(NAMPI_CLASSES == 4095U, "the text above");

int32_t
nampi_addr_parse(na_plugin_class *cls, const char *text, size_t length,
    bool resolve, na_plugin_addr *addr)
{
    uint32_t most = (uint32_t) cls->engine->size - 1, rank = 0, number = 1;
    const char *rest = text, *end = text + length;

    bool good = parse(&rest, end, 0, most, &rank);
    if (good && rest < end && *rest == ':') {
        rest++;
        good = parse(&rest, end, 1, NAMPI_CLASSES, &number);
    }
    if (!good || rest != end) {
        log_refused(cls, resolve, text, length);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    name(addr, rank, number);
    return NA_PLUGIN_OK;
}

na_plugin_addr *
nampi_addr_get(na_plugin_class *cls, uint32_t rank, uint32_t number)
{
    na_plugin_addr *addr = tp_peer_new(&cls->base);

    if (addr == NULL)
        return NULL;
    name(addr, rank, number);
    return tp_peer_enter(&cls->base, addr);
}

static struct nampi_channel *
find(const na_plugin_class *cls, uint32_t rank, uint32_t number)
{
    struct tp_keyed *keyed =
        tp_table_find(&cls->by_name, NULL, name_key(rank, number));

    return keyed != NULL ? TP_OBJECT(keyed, struct nampi_channel, by_name)
                         : NULL;
}

int32_t
nampi_connect(na_plugin_class *cls, na_plugin_addr *peer)
{
    struct nampi_channel *channel = calloc(1, sizeof(*channel));

    if (channel == NULL)
        return NA_PLUGIN_E_NOMEM;
    channel->rank = peer->rank;
    channel->number = peer->number;
    channel->by_name.key = name_key(peer->rank, peer->number);
    tp_table_insert(&cls->by_name, &channel->by_name);
    tp_channel_begin(&channel->base, &cls->base, peer);
    cls->known = true;
    nampi_flush(&channel->base);
    return NA_PLUGIN_OK;
}

static void
address_head(const na_plugin_class *cls, const struct nampi_channel *channel,
    struct nampi_wire *head)
{
    head->from_class = cls->number;
    head->from_life = cls->life;
    head->to_class = channel->number;
    head->to_life = channel->life;
}

/* Copies a packet to MPI. False: no memory, or MPI fails. */
static bool
submit(na_plugin_class *cls, struct nampi_channel *channel,
    const struct tp_packet *packet)
{
    uint32_t length = packet->frame.length;
    struct nampi_send *send =
        nampi_send_new(NAMPI_FRAME, (uint32_t) sizeof(packet->frame) + length);

    if (send == NULL)
        return false;
    address_head(cls, channel, &send->head);
    memcpy(send->data, &packet->frame, sizeof(packet->frame));
    if (length != 0)
        memcpy(send->data + sizeof(packet->frame), packet->data, length);
    return nampi_send_start(cls->engine, (int) channel->rank, send, cls,
               channel) == NA_PLUGIN_OK;
}

void
nampi_flush(struct tp_channel *base)
{
    struct nampi_channel *channel = nampi_channel_of(base);
    na_plugin_class *cls = (na_plugin_class *) (void *) base->transport;
    struct tp_packet *packet;

    while (channel->sending < NAMPI_SENDS &&
           (packet = tp_channel_next(base)) != NULL) {
        if (!submit(cls, channel, packet)) {
            cls->stuck = true;
            return;
        }
        tp_channel_sent(base, packet);
    }
}

bool
nampi_is_out(struct tp_channel *channel)
{
    return nampi_channel_of(channel)->sending == 0;
}

bool
nampi_greeted(
    struct tp_channel *channel, const unsigned char *extra, uint32_t length)
{
    return true;
}

void
nampi_close(struct tp_channel *base)
{
    struct nampi_channel *channel = nampi_channel_of(base);
    na_plugin_class *cls = (na_plugin_class *) (void *) base->transport;
    bool tell = !channel->gone && channel->life != 0 && base->peer != NULL &&
                !(channel->rank == (uint32_t) cls->engine->rank &&
                    channel->number == cls->number);

    nampi_engine_orphan(cls, channel);
    tp_table_remove(&cls->by_name, &channel->by_name);
    struct nampi_send *send = tell ? nampi_send_new(NAMPI_BYE, 0) : NULL;
    if (send != NULL) {
        address_head(cls, channel, &send->head);
        nampi_send_start(cls->engine, (int) channel->rank, send, cls, NULL);
    }
    free(channel);
}

/* Greets who was absent again, and sends what could not be sent. */
static void
try_again(na_plugin_class *cls)
{
    struct tp_link *link;

    for (link = cls->base.opening.head; link != NULL; link = link->next) {
        struct nampi_channel *channel =
            nampi_channel_of(TP_OBJECT(link, struct tp_channel, opening));
        if (channel->again_ns == 0 || channel->again_ns > tp_now())
            continue;
        channel->again_ns = 0;
        tp_channel_greet(&channel->base);
        nampi_flush(&channel->base);
    }
    if (!cls->stuck)
        return;
    cls->stuck = false;
    for (link = cls->base.channels.head; link != NULL; link = link->next)
        nampi_flush(TP_OBJECT(link, struct tp_channel, link));
}

int32_t
nampi_advance(na_plugin_class *cls)
{
    if (!nampi_engine_progress(cls->engine))
        return NA_PLUGIN_E_IO_ERROR;
    try_again(cls);
    return NA_PLUGIN_OK;
}

static bool
well_formed(
    const struct nampi_wire *head, const struct tp_frame *frame, uint32_t size)
{
    uint32_t front = (uint32_t) (sizeof(*head) + sizeof(*frame));

    if (head->magic != NAMPI_MAGIC || head->from_class == 0 ||
        head->from_class > NAMPI_CLASSES ||
        (head->from_life == 0 && head->kind != NAMPI_GONE))
        return false;
    if (head->kind == NAMPI_FRAME)
        return size >= front && frame->length == size - front;
    return (head->kind == NAMPI_GONE || head->kind == NAMPI_BYE) &&
           size == sizeof(*head);
}

/* Tells who wrote that nobody here knows it. */
static void
answer_gone(
    struct nampi_engine *engine, int rank, const struct nampi_wire *asked)
{
    struct nampi_send *send =
        asked->kind == NAMPI_FRAME ? nampi_send_new(NAMPI_GONE, 0) : NULL;

    if (send == NULL)
        return;
    send->head.from_class = asked->to_class;
    send->head.from_life = asked->to_life;
    send->head.to_class = asked->from_class;
    send->head.to_life = asked->from_life;
    nampi_send_start(engine, rank, send, NULL, NULL);
}

static na_plugin_class *
addressed(const struct nampi_engine *engine, const struct nampi_wire *head)
{
    for (struct tp_link *link = engine->classes.head; link != NULL;
         link = link->next) {
        na_plugin_class *cls = nampi_class_of(link);
        if (cls->number == head->to_class)
            return !cls->closing &&
                           (head->to_life == 0 || head->to_life == cls->life)
                       ? cls
                       : NULL;
    }
    return NULL;
}

/* No class knows what to do with it: the oldest one logs it. */
static void
drop_malformed(const struct nampi_engine *engine, int rank, uint32_t size)
{
    if (engine->classes.head == NULL)
        return;
    na_plugin_class *cls = nampi_class_of(engine->classes.head);
    TP_LOG_THINNED(cls->base.host, INFO, tp_count(&cls->malformed, 1),
        "malformed message of %" PRIu32 " bytes from rank %d, dropped", size,
        rank);
}

/* It says that it is not there: perhaps not yet, or no more. */
static void
absent(struct nampi_channel *channel)
{
    if (channel->life == 0) {
        channel->again_ns = tp_now() + AGAIN_NS;
        return;
    }
    channel->gone = true;
    tp_channel_end(&channel->base, NA_PLUGIN_E_HOSTUNREACH);
}

/* The channel that a hello is of; NULL: no memory, or it has been heard already. */
static struct nampi_channel *
greet(na_plugin_class *cls, struct nampi_channel *channel, uint32_t rank,
    const struct nampi_wire *head)
{
    if (channel != NULL && channel->life != 0) {
        if (channel->life == head->from_life)
            return NULL;
        channel->gone = true;
        tp_channel_end(&channel->base, NA_PLUGIN_E_HOSTUNREACH);
        channel = NULL;
    }
    if (channel == NULL) {
        na_plugin_addr *peer = nampi_addr_get(cls, rank, head->from_class);
        if (peer == NULL)
            return NULL;
        nampi_connect(cls, peer);
        tp_peer_put(&cls->base, peer);
        channel = find(cls, rank, head->from_class);
        if (channel == NULL)
            return NULL;
    } else {
        /* the one before may have found nobody; the same one twice is one */
        tp_channel_greet(&channel->base);
    }
    channel->life = head->from_life;
    return channel;
}

static void
take(na_plugin_class *cls, uint32_t rank, const struct nampi_wire *head,
    const struct tp_frame *frame, const unsigned char *data)
{
    struct nampi_channel *channel = find(cls, rank, head->from_class);

    if (head->kind != NAMPI_FRAME) {
        if (channel != NULL && channel->life == head->from_life)
            absent(channel);
        return;
    }
    if (frame->kind == TP_FRAME_HELLO) {
        channel = greet(cls, channel, rank, head);
        if (channel == NULL)
            return;
    } else if (channel == NULL || channel->life != head->from_life) {
        answer_gone(cls->engine, (int) rank, head);
        return;
    }
    if (frame->length <= cls->base.longest &&
        tp_channel_arrived(&channel->base, frame, data)) {
        nampi_flush(&channel->base);
        return;
    }
    tp_count(&cls->malformed, 1);
    tp_channel_refuse(&channel->base);
}

void
nampi_dispatch(struct nampi_engine *engine, int rank,
    const unsigned char *bytes, uint32_t size)
{
    struct nampi_wire head = {.magic = 0};
    struct tp_frame frame = {.length = 0};

    if (size >= sizeof(head))
        memcpy(&head, bytes, sizeof(head));
    if (size >= sizeof(head) + sizeof(frame))
        memcpy(&frame, bytes + sizeof(head), sizeof(frame));
    if (size < sizeof(head) || !well_formed(&head, &frame, size)) {
        drop_malformed(engine, rank, size);
        return;
    }
    na_plugin_class *cls = addressed(engine, &head);
    if (cls == NULL)
        answer_gone(engine, rank, &head);
    else
        take(cls, (uint32_t) rank, &head, &frame,
            bytes + sizeof(head) + sizeof(frame));
}

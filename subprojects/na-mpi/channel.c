/* SPDX-License-Identifier: BSD-3-Clause */
/* A channel connects a class to a peer. Each side begins with a hello, whose
 * header carries its instance. All bytes of a peer are checked here or in the
 * SDK (tp_channel_arrived) before they are used. */
#include "channel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#define RETRY_NS (10 * TP_MS) /* from NAMPI_GONE to the next hello */

/* The key of a peer in the table by_name. */
static uint64_t
name_key(uint32_t rank, uint32_t number)
{
    return (uint64_t) rank << 32 | number;
}

/* Parses decimal digits at *text_p and moves it behind them. Returns false
 * without digits, or if the value is out of range. */
static bool
parse_number(const char **text_p, const char *end, uint32_t least,
    uint32_t most, uint32_t *value_p)
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
set_name(na_plugin_addr *addr, uint32_t rank, uint32_t number)
{
    addr->rank = rank;
    addr->number = number;
    snprintf(addr->base.name, TP_NAME, "%" PRIu32 ":%" PRIu32, rank, number);
}

/* Logs a malformed address: at level ERROR if the user gave it; thinned if a
 * peer sent it, since a peer can send many. */
static void
log_malformed(
    na_plugin_class *cls, bool of_user, const char *text, size_t length)
{
    static const char needed[] =
        "is not RANK:NUMBER, with a rank of the communicator and "
        "a number from 1 to 4095";
    int shown = (int) (length < 100 ? length : 100);

    if (of_user)
        TP_LOG(cls->base.host, ERROR, "\"%.*s\" %s", shown, text, needed);
    else
        TP_LOG_THINNED(cls->base.host, WARNING, tp_count_shared(&cls->names, 1),
            "address of a peer \"%.*s\" %s", shown, text, needed);
}

_Static_assert(NAMPI_CLASSES == 4095U, "log_malformed names the limit");

int32_t
nampi_addr_parse(na_plugin_class *cls, const char *text, size_t length,
    bool resolve, na_plugin_addr *addr)
{
    uint32_t most = (uint32_t) cls->engine->size - 1, rank = 0, number = 1;
    const char *rest = text, *end = text + length;

    bool good = parse_number(&rest, end, 0, most, &rank);
    if (good && rest < end && *rest == ':') {
        rest++;
        good = parse_number(&rest, end, 1, NAMPI_CLASSES, &number);
    }
    if (!good || rest != end) {
        log_malformed(cls, resolve, text, length);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    set_name(addr, rank, number);
    return NA_PLUGIN_OK;
}

na_plugin_addr *
nampi_addr_get(na_plugin_class *cls, uint32_t rank, uint32_t number)
{
    na_plugin_addr *addr = tp_peer_new(&cls->base);

    if (addr == NULL)
        return NULL;
    set_name(addr, rank, number);
    return tp_peer_enter(&cls->base, addr);
}

/* Returns the channel to a peer, or NULL. */
static struct nampi_channel *
find_channel(const na_plugin_class *cls, uint32_t rank, uint32_t number)
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
    cls->contacted = true;
    nampi_flush(&channel->base);
    return NA_PLUGIN_OK;
}

/* Fills in classes and instances of a header. */
static void
fill_head(const na_plugin_class *cls, const struct nampi_channel *channel,
    struct nampi_wire *head)
{
    head->from_class = cls->number;
    head->from_instance = cls->instance;
    head->to_class = channel->number;
    head->to_instance = channel->instance;
}

/* Copies a packet into a message and sends it. Returns false without memory or
 * if MPI fails. */
static bool
send_packet(na_plugin_class *cls, struct nampi_channel *channel,
    const struct tp_packet *packet)
{
    uint32_t length = packet->frame.length;
    struct nampi_send *send =
        nampi_send_new(NAMPI_FRAME, (uint32_t) sizeof(packet->frame) + length);

    if (send == NULL)
        return false;
    fill_head(cls, channel, &send->head);
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
        if (!send_packet(cls, channel, packet)) {
            cls->needs_flush = true;
            return;
        }
        tp_channel_sent(base, packet);
    }
}

/* Whether MPI has completed all sends. */
bool
nampi_is_out(struct tp_channel *channel)
{
    return nampi_channel_of(channel)->sending == 0;
}

/* The hello has no extra bytes: the header already names the peer. */
bool
nampi_hello_received(
    struct tp_channel *channel, const unsigned char *extra, uint32_t length)
{
    return true;
}

/* Sends NAMPI_BYE, unless the peer has closed the connection, has not answered
 * yet, or is this class. */
void
nampi_close(struct tp_channel *base)
{
    struct nampi_channel *channel = nampi_channel_of(base);
    na_plugin_class *cls = (na_plugin_class *) (void *) base->transport;
    bool says_bye = !channel->peer_closed && channel->instance != 0 &&
                    base->peer != NULL &&
                    !(channel->rank == (uint32_t) cls->engine->rank &&
                        channel->number == cls->number);

    nampi_engine_detach(cls, channel);
    tp_table_remove(&cls->by_name, &channel->by_name);
    struct nampi_send *send = says_bye ? nampi_send_new(NAMPI_BYE, 0) : NULL;
    if (send != NULL) {
        fill_head(cls, channel, &send->head);
        nampi_send_start(cls->engine, (int) channel->rank, send, cls, NULL);
    }
    free(channel);
}

/* Sends the hellos that are due again, and flushes all channels if a send
 * failed. */
static void
retry(na_plugin_class *cls)
{
    struct tp_link *link;

    for (link = cls->base.opening.head; link != NULL; link = link->next) {
        struct nampi_channel *channel =
            nampi_channel_of(TP_OBJECT(link, struct tp_channel, opening));
        if (channel->retry_ns == 0 || channel->retry_ns > tp_now())
            continue;
        channel->retry_ns = 0;
        tp_channel_send_hello(&channel->base);
        nampi_flush(&channel->base);
    }
    if (!cls->needs_flush)
        return;
    cls->needs_flush = false;
    for (link = cls->base.channels.head; link != NULL; link = link->next)
        nampi_flush(TP_OBJECT(link, struct tp_channel, link));
}

int32_t
nampi_advance(na_plugin_class *cls)
{
    if (!nampi_engine_progress(cls->engine))
        return NA_PLUGIN_E_IO_ERROR;
    retry(cls);
    return NA_PLUGIN_OK;
}

/* Whether the header and the length of a message are valid. size: at least that
 * of the header. frame: zeros if the message is too short for one. */
static bool
is_well_formed(
    const struct nampi_wire *head, const struct tp_frame *frame, uint32_t size)
{
    uint32_t front = (uint32_t) (sizeof(*head) + sizeof(*frame));

    if (head->magic != NAMPI_MAGIC || head->from_class == 0 ||
        head->from_class > NAMPI_CLASSES ||
        (head->from_instance == 0 && head->kind != NAMPI_GONE))
        return false;
    if (head->kind == NAMPI_FRAME)
        return size >= front && frame->length == size - front;
    return (head->kind == NAMPI_GONE || head->kind == NAMPI_BYE) &&
           size == sizeof(*head);
}

/* Answers a frame for an unknown class or connection by NAMPI_GONE. Other
 * messages get no answer. Without memory none is sent; if the frame was a
 * hello, its sender waits until mpi.contact_timeout. */
static void
answer_gone(
    struct nampi_engine *engine, int rank, const struct nampi_wire *head)
{
    struct nampi_send *send =
        head->kind == NAMPI_FRAME ? nampi_send_new(NAMPI_GONE, 0) : NULL;

    if (send == NULL)
        return;
    send->head.from_class = head->to_class;
    send->head.from_instance = head->to_instance;
    send->head.to_class = head->from_class;
    send->head.to_instance = head->from_instance;
    nampi_send_start(engine, rank, send, NULL, NULL);
}

/* Returns the class of the number and instance in a header. NULL: there is
 * none, or it is closing. */
static na_plugin_class *
find_class(const struct nampi_engine *engine, const struct nampi_wire *head)
{
    for (struct tp_link *link = engine->classes.head; link != NULL;
         link = link->next) {
        na_plugin_class *cls = nampi_class_of(link);
        if (cls->number == head->to_class)
            return !cls->closing && (head->to_instance == 0 ||
                                        head->to_instance == cls->instance)
                       ? cls
                       : NULL;
    }
    return NULL;
}

/* Counts and logs a malformed message in the oldest class: the header cannot be
 * trusted to name one. */
static void
log_dropped(const struct nampi_engine *engine, int rank, uint32_t size)
{
    if (engine->classes.head == NULL)
        return;
    na_plugin_class *cls = nampi_class_of(engine->classes.head);
    TP_LOG_THINNED(cls->base.host, INFO, tp_count(&cls->malformed, 1),
        "malformed message of %" PRIu32 " bytes from rank %d, dropped", size,
        rank);
}

/* NAMPI_GONE or NAMPI_BYE has arrived. A peer that never answered may not be
 * open yet: the hello is sent again later. Else the channel ends. */
static void
handle_closed(struct nampi_channel *channel)
{
    if (channel->instance == 0) {
        channel->retry_ns = tp_now() + RETRY_NS;
        return;
    }
    channel->peer_closed = true;
    tp_channel_end(&channel->base, NA_PLUGIN_E_HOSTUNREACH);
}

/* Returns the channel of a hello, and creates it if there is none. A channel to
 * an earlier instance of the peer ends. Returns NULL for a repeated hello, or
 * without memory. */
static struct nampi_channel *
accept_hello(na_plugin_class *cls, struct nampi_channel *channel, uint32_t rank,
    const struct nampi_wire *head)
{
    if (channel != NULL && channel->instance != 0) {
        if (channel->instance == head->from_instance)
            return NULL;
        channel->peer_closed = true;
        tp_channel_end(&channel->base, NA_PLUGIN_E_HOSTUNREACH);
        channel = NULL;
    }
    if (channel == NULL) {
        na_plugin_addr *peer = nampi_addr_get(cls, rank, head->from_class);
        if (peer == NULL)
            return NULL;
        nampi_connect(cls, peer);
        tp_peer_put(&cls->base, peer);
        channel = find_channel(cls, rank, head->from_class);
        if (channel == NULL)
            return NULL;
    } else {
        /* our hello may have arrived before the peer was open; the peer
         * ignores a repeated one */
        tp_channel_send_hello(&channel->base);
    }
    channel->instance = head->from_instance;
    return channel;
}

/* Processes a well-formed message for a class. */
static void
process_message(na_plugin_class *cls, uint32_t rank,
    const struct nampi_wire *head, const struct tp_frame *frame,
    const unsigned char *data)
{
    struct nampi_channel *channel = find_channel(cls, rank, head->from_class);

    if (head->kind != NAMPI_FRAME) {
        if (channel != NULL && channel->instance == head->from_instance)
            handle_closed(channel);
        return;
    }
    if (frame->kind == TP_FRAME_HELLO) {
        channel = accept_hello(cls, channel, rank, head);
        if (channel == NULL)
            return;
    } else if (channel == NULL || channel->instance != head->from_instance) {
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
    if (size < sizeof(head) || !is_well_formed(&head, &frame, size)) {
        log_dropped(engine, rank, size);
        return;
    }
    na_plugin_class *cls = find_class(engine, &head);
    if (cls == NULL)
        answer_gone(engine, rank, &head);
    else
        process_message(cls, (uint32_t) rank, &head, &frame,
            bytes + sizeof(head) + sizeof(frame));
}

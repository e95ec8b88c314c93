/* SPDX-License-Identifier: BSD-3-Clause */
#include "pipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPS 2000

char pipe_log[1024];
uint32_t pipe_warnings, pipe_wakes;
size_t pipe_most = PIPE_ROOM;
const na_plugin_ops *pipe_ops;

static na_plugin_class *classes[PIPE_CLASSES];
static na_plugin_ctx *contexts[PIPE_CLASSES];
static struct {
    void *op;
    bool ended;
    na_plugin_event event;
} ops[OPS];
static uint32_t op_count;
static uint32_t op_size = 4096;
static uint64_t moved; /* bytes */

static struct pipe *
pipe_of(struct tp_channel *channel)
{
    return TP_OBJECT(channel, struct pipe, base);
}

static int32_t
addr_parse(na_plugin_class *cls, const char *text, size_t length, bool resolve,
    na_plugin_addr *addr)
{
    if (length != 1 || text[0] < '0' || text[0] > '9')
        return NA_PLUGIN_E_INVALID_ARG;
    addr->number = (uint32_t) (text[0] - '0');
    snprintf(addr->base.name, TP_NAME, "%u", addr->number);
    return NA_PLUGIN_OK;
}

static struct pipe *
make(na_plugin_class *cls, na_plugin_addr *peer)
{
    struct pipe *pipe = calloc(1, sizeof(*pipe));

    ck_assert_ptr_nonnull(pipe);
    tp_channel_begin(&pipe->base, &cls->base, peer);
    return pipe;
}

static int32_t
pipe_connect(na_plugin_class *cls, na_plugin_addr *peer)
{
    na_plugin_class *there =
        peer->number < PIPE_CLASSES ? classes[peer->number] : NULL;

    if (there == NULL)
        return NA_PLUGIN_E_HOSTUNREACH;
    struct pipe *far = make(there, there == cls ? peer : NULL);
    struct pipe *near = make(cls, peer);
    near->other = far;
    far->other = near;
    return NA_PLUGIN_OK;
}

/* Up to most bytes of a packet. */
static void
put(struct pipe *pipe, struct tp_packet *packet, size_t most)
{
    unsigned char *bytes = pipe->other != NULL ? pipe->other->in : pipe->out;
    size_t *used =
        pipe->other != NULL ? &pipe->other->in_used : &pipe->out_used;
    struct tp_frame frame;
    struct iovec parts[2];

    int count = tp_packet_parts(packet, &frame, parts);
    for (int i = 0; i < count && most != 0; i++) {
        size_t length = parts[i].iov_len < most ? parts[i].iov_len : most;
        ck_assert_uint_le(*used + length, PIPE_ROOM);
        memcpy(bytes + *used, parts[i].iov_base, length);
        *used += length;
        moved += length;
        most -= length;
        packet->sent += (uint32_t) length;
    }
}

static void
pipe_flush(struct tp_channel *channel)
{
    struct pipe *pipe = pipe_of(channel);
    struct tp_packet *packet;
    size_t room = pipe->other != NULL
                      ? PIPE_ROOM / 2 - pipe->other->in_used % (PIPE_ROOM / 2)
                      : PIPE_ROOM;
    size_t most = pipe_most < room ? pipe_most : room;

    if (pipe->closed)
        return;
    while (most != 0 && (packet = tp_channel_next(channel)) != NULL) {
        uint32_t before = packet->sent;
        put(pipe, packet, most);
        most -= packet->sent - before;
        if (tp_packet_is_sent(packet))
            tp_channel_sent(channel, packet);
    }
}

static int32_t
advance(na_plugin_class *cls)
{
    struct tp_link *next;

    for (struct tp_link *link = cls->base.channels.head; link != NULL;
         link = next) {
        struct tp_channel *channel = TP_OBJECT(link, struct tp_channel, link);
        struct pipe *pipe = pipe_of(channel);
        next = link->next;
        int64_t taken = tp_channel_take(channel, pipe->in, pipe->in_used);
        if (taken < 0) {
            tp_channel_refuse(channel);
            continue;
        }
        pipe->in_used -= (size_t) taken;
        memmove(pipe->in, pipe->in + taken, pipe->in_used);
        if (pipe->closed)
            tp_channel_end(channel, NA_PLUGIN_E_HOSTUNREACH);
        else
            pipe_flush(channel);
    }
    return NA_PLUGIN_OK;
}

static bool
hello_received(
    struct tp_channel *channel, const unsigned char *extra, uint32_t length)
{
    char name = (char) ('0' + extra[0]);

    ck_assert_uint_eq(length, 1);
    if (channel->peer != NULL)
        return true;
    na_plugin_addr *addr = tp_peer_new(channel->transport);
    ck_assert_ptr_nonnull(addr);
    if (addr_parse(NULL, &name, 1, false, addr) != NA_PLUGIN_OK) {
        free(addr);
        return false;
    }
    tp_channel_join(channel, tp_peer_enter(channel->transport, addr));
    return true;
}

static void
close_pipe(struct tp_channel *channel)
{
    struct pipe *pipe = pipe_of(channel);

    if (pipe->other != NULL) {
        pipe->other->other = NULL;
        pipe->other->closed = true;
    }
    free(pipe);
}

static const struct tp_carrier carrier = {.protocol = "pipe",
    .offer = {.max_contexts = 2},
    .addr_size = sizeof(struct na_plugin_addr),
    .message_size = PIPE_MESSAGE,
    .message_size_most = 2 * PIPE_MESSAGE,
    .fragment = PIPE_FRAGMENT,
    .addr_parse = addr_parse,
    .connect = pipe_connect,
    .flush = pipe_flush,
    .advance = advance,
    .hello_received = hello_received,
    .close = close_pipe};

static void
note(const na_plugin_host *host, int32_t at, const char *file, uint32_t line,
    const char *text)
{
    if (at <= NA_PLUGIN_LOG_INFO)
        snprintf(pipe_log, sizeof(pipe_log), "%s", text);
    pipe_warnings += at == NA_PLUGIN_LOG_WARNING;
}

static void
wake(const na_plugin_host *host, void *core_ctx)
{
    pipe_wakes++;
}

static int32_t level = NA_PLUGIN_LOG_DEBUG;
static const na_plugin_host host = {
    .size = sizeof(host), .log_level = &level, .log = note, .wake = wake};

na_plugin_class *
pipe_open(uint32_t number, uint64_t window)
{
    const na_plugin_open_info info = {.size = sizeof(info),
        .protocol = "pipe",
        .port = -1,
        .max_contexts = 2};
    na_plugin_opened opened = {.size = sizeof(opened)};
    na_plugin_class *cls = calloc(1, sizeof(*cls));

    ck_assert_ptr_nonnull(cls);
    ck_assert_int_eq(
        tp_transport_init(&cls->base, &carrier, &host, &info, &opened),
        NA_PLUGIN_OK);
    tp_transport_window(&cls->base, window);
    cls->number = number;
    cls->base.hello_extra[0] = (unsigned char) number;
    cls->base.hello_extra_length = 1;
    classes[number] = cls;
    tp_transport_opened(&cls->base, &opened);
    ck_assert_ptr_eq(opened.cls, cls);
    pipe_ops = opened.ops;
    ck_assert_uint_le(opened.op_size, op_size);
    cls->base.self = pipe_addr(cls, number);
    ck_assert_int_eq(
        pipe_ops->ctx_create(cls, 0, NULL, &contexts[number]), NA_PLUGIN_OK);
    return cls;
}

na_plugin_ctx *
pipe_ctx(const na_plugin_class *cls)
{
    return contexts[cls->number];
}

void
pipe_close(na_plugin_class *cls)
{
    bool others = false;

    pipe_ops->ctx_destroy(contexts[cls->number]);
    classes[cls->number] = NULL;
    tp_transport_fini(&cls->base);
    ck_assert_uint_eq(cls->base.addrs.count, 0);
    free(cls);
    for (uint32_t i = 0; i < PIPE_CLASSES; i++)
        others |= classes[i] != NULL;
    for (uint32_t i = 0; !others && i < op_count; i++)
        free(ops[i].op);
    op_count = others ? op_count : 0;
    pipe_most = PIPE_ROOM;
}

na_plugin_addr *
pipe_addr(na_plugin_class *cls, uint32_t number)
{
    char name[32];
    na_plugin_addr *addr;

    snprintf(name, sizeof(name), "pipe://%u", number);
    ck_assert_int_eq(pipe_ops->addr_lookup(cls, name, &addr), NA_PLUGIN_OK);
    return addr;
}

void *
pipe_op(void)
{
    ck_assert_uint_lt(op_count, OPS);
    ops[op_count].op = calloc(1, op_size);
    ops[op_count].ended = false;
    ck_assert_ptr_nonnull(ops[op_count].op);
    return ops[op_count++].op;
}

static void
ended(const na_plugin_event *event)
{
    uint32_t i = 0;

    while (i < op_count && ops[i].op != event->op)
        i++;
    ck_assert_uint_lt(i, op_count);
    ck_assert(!ops[i].ended);
    ops[i].ended = true;
    ops[i].event = *event;
}

void
pipe_run(void)
{
    for (uint32_t idle = 0; idle < 4; idle++) {
        uint64_t before = moved;
        for (uint32_t i = 0; i < PIPE_CLASSES; i++) {
            na_plugin_event events[3];
            int32_t count =
                classes[i] != NULL ? pipe_ops->poll(contexts[i], events, 3) : 0;
            ck_assert_int_ge(count, 0);
            for (int32_t j = 0; j < count; j++) {
                ended(&events[j]);
                if (events[j].source != NULL)
                    pipe_ops->addr_free(classes[i], events[j].source);
            }
            idle = count != 0 ? 0 : idle;
        }
        idle = moved != before ? 0 : idle;
    }
}

const na_plugin_event *
pipe_event(const void *op)
{
    for (uint32_t i = 0; i < op_count; i++)
        if (ops[i].op == op && ops[i].ended)
            return &ops[i].event;
    return NULL;
}

bool
pipe_ended(const void *op, int32_t *status_p)
{
    const na_plugin_event *event = pipe_event(op);

    if (event != NULL)
        *status_p = event->status;
    return event != NULL;
}

struct pipe *
pipe_attacker(na_plugin_class *cls, uint32_t number)
{
    unsigned char hello[TP_HELLO + 1] = {0}, *at = hello;
    struct pipe *pipe = make(cls, NULL);

    snprintf(pipe->base.name, TP_NAME, "attacker");
    if (number == 0)
        return pipe;
    at = tp_pack(at, UINT64_C(0x31656d6172667074), 8);
    at = tp_pack(at, PIPE_MESSAGE, 4);
    at = tp_pack(at, PIPE_MESSAGE, 4);
    at = tp_pack(at, PIPE_ROOM, 8);
    tp_pack(at, number, 1);
    pipe_say(pipe,
        (struct tp_frame){.kind = TP_FRAME_HELLO, .length = sizeof(hello)},
        hello);
    return pipe;
}

bool
pipe_is_there(const na_plugin_class *cls, uint64_t number)
{
    return tp_channel_find(&cls->base, number) != NULL;
}

void
pipe_say(struct pipe *pipe, struct tp_frame frame, const void *data)
{
    struct tp_frame wire = frame;

    tp_frame_swap(&wire);
    memcpy(pipe->in + pipe->in_used, &wire, sizeof(wire));
    pipe->in_used += sizeof(wire);
    if (data != NULL)
        memcpy(pipe->in + pipe->in_used, data, frame.length);
    pipe->in_used += data != NULL ? frame.length : 0;
    pipe_run();
}

bool
pipe_hear(struct pipe *pipe, enum tp_frame_kind kind, struct tp_frame *frame)
{
    while (pipe->out_used >= sizeof(*frame)) {
        memcpy(frame, pipe->out, sizeof(*frame));
        tp_frame_swap(frame);
        pipe->out_used -= sizeof(*frame) + frame->length;
        memmove(pipe->out, pipe->out + sizeof(*frame) + frame->length,
            pipe->out_used);
        if (frame->kind == kind)
            return true;
    }
    return false;
}

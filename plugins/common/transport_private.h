/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of common/transport.h share. Not installed. The lock of the class
 * is held in all of these. */
#ifndef TP_TRANSPORT_PRIVATE_H
#define TP_TRANSPORT_PRIVATE_H

#include "common/event.h"
#include "common/log.h"
#include "common/match.h"
#include "common/memory.h"
#include "common/transport.h"
#include "common/wake.h"

enum tp_op_kind {
    TP_OP_IDLE, /* not submitted, or ended: operations are zeroed at first */
    TP_OP_RECV_UNEXPECTED,
    TP_OP_RECV_EXPECTED,
    TP_OP_SEND,
    TP_OP_PUT,
    TP_OP_GET,
};

/* The plugin's part of an operation. */
struct tp_op {
    enum tp_op_kind kind;
    bool submitting; /* it may still end as DONE, or with an error at once */
    int32_t status;
    na_plugin_ctx *ctx;
    struct tp_link pending; /* in the context */
    struct tp_link link;    /* in *list: of its channel, or of its peer */
    struct tp_list *list;
    struct tp_recv recv;
    struct tp_channel *channel;
    struct tp_packet packet;
    na_plugin_mem *local; /* from here on of puts and gets: what is left */
    uint64_t local_offset;
    uint64_t key;
    uint64_t remote_offset;
    uint64_t left;
    uint32_t unanswered;
};

struct na_plugin_mem { /* own registrations, and peers' */
    struct tp_mem base;
    na_plugin_segment segments[];
};

struct na_plugin_ctx {
    struct tp_transport *transport;
    void *core_ctx;
    uint32_t id;
    bool armed;   /* it may sleep: an event has to wake it */
    bool polling; /* its poll is running, and reports what it finds */
    struct tp_match match;
    struct tp_quota quota; /* not needed: senders have credit */
    struct tp_events events;
    struct tp_wake wake;
    struct tp_list pending; /* operations */
};

static inline struct tp_transport *
tp_transport_of(na_plugin_class *cls)
{
    return (struct tp_transport *) (void *) cls;
}

static inline na_plugin_class *
tp_class_of(struct tp_transport *transport)
{
    return (na_plugin_class *) (void *) transport;
}

static inline struct tp_peer *
tp_peer_of(na_plugin_addr *addr)
{
    return (struct tp_peer *) (void *) addr;
}

static inline struct tp_channel *
tp_channel_of(struct tp_link *link)
{
    return TP_OBJECT(link, struct tp_channel, link);
}

#define TP_FRAME_KINDS (TP_FRAME_ANSWER + 1)

/* A frame has arrived on an open channel. False: the peer breaks the protocol. */
typedef bool tp_arrived_fn(
    struct tp_channel *channel, const struct tp_frame *frame, const void *data);

/* What channels and their packets call in the parts above them: one constant table,
 * in transport_class.c. */
struct tp_handlers {
    tp_arrived_fn *arrived[TP_FRAME_KINDS]; /* NULL: none may arrive */
    /* Moves the next fragment to the channel's empty list out, if one may go. */
    void (*fragment_next)(struct tp_channel *channel);
    /* A fragment of a put or get was sent, and is in no list any more. */
    void (*fragment_sent)(struct tp_op *op);
};

/* The functions of each file, which calls only files that stand before it: no
 * circles. */

/* transport_op.c */

/* Makes an operation pending, on a list that it leaves when it ends. False: no
 * memory. */
bool tp_op_begin(struct tp_op *op, na_plugin_ctx *ctx, enum tp_op_kind kind,
    struct tp_list *list);
void tp_op_report(struct tp_op *op, const na_plugin_event *event);
void tp_op_end(struct tp_op *op, int32_t status);
/* What a submission returns, once it has sent what it could. */
int32_t tp_op_submitted(struct tp_op *op);

/* transport_packet.c */

/* One with room for its bytes behind it, freed when it was sent. */
struct tp_packet *tp_packet_new(enum tp_frame_kind kind, uint32_t length);
/* Appends it to another list of its channel; NULL: to none. */
void tp_packet_move(struct tp_packet *packet, struct tp_list *list);
/* Takes the packet from an operation though a part was sent: the rest is copied.
 * False: no memory. */
bool tp_packet_detach(struct tp_packet *packet);
/* Lets unexpected messages out for which there is credit. */
void tp_channel_release(struct tp_channel *channel);

static inline void
tp_channel_flush(struct tp_channel *channel)
{
    channel->transport->carrier->flush(channel);
}

/* transport_addr.c */
int32_t tp_peer_self(na_plugin_class *cls, na_plugin_addr **addr_p);
int32_t tp_peer_lookup(
    na_plugin_class *cls, const char *name, na_plugin_addr **addr_p);
void tp_peer_dup(na_plugin_class *cls, na_plugin_addr *addr);
void tp_peer_free(na_plugin_class *cls, na_plugin_addr *addr);
int32_t tp_peer_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b);
uint64_t tp_peer_hash(na_plugin_class *cls, const na_plugin_addr *addr);
int32_t tp_peer_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p);
int32_t tp_peer_to_bytes(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p);
int32_t tp_peer_from_bytes(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_addr **addr_p);

/* transport_mem.c */
int32_t tp_mem_register(na_plugin_class *cls, const na_plugin_mem_info *info,
    na_plugin_mem **mem_p);
void tp_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem);
int32_t tp_mem_to_bytes(na_plugin_class *cls, const na_plugin_mem *mem,
    void *buffer, uint64_t *size_p);
int32_t tp_mem_from_bytes(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_mem **mem_p);
void tp_mem_remote_free(na_plugin_class *cls, na_plugin_mem *mem);

/* transport_channel.c */

/* The channel to a peer, begun if there is none. HOSTUNREACH, NOMEM */
int32_t tp_channel_get(struct tp_transport *transport, na_plugin_addr *peer,
    struct tp_channel **channel_p);
/* Ends the channels to a peer. */
void tp_channel_forget(na_plugin_class *cls, na_plugin_addr *peer);

/* transport_message.c */
tp_arrived_fn tp_message_arrived;
tp_arrived_fn tp_message_credited;
void tp_message_forget(void *arg, struct tp_kept *kept, bool dropped);
int32_t tp_send_unexpected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t tp_send_expected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t tp_recv_unexpected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags);
int32_t tp_recv_expected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);

/* transport_rma.c: answers of the owner; what is asked of this one */
tp_arrived_fn tp_rma_answered;
tp_arrived_fn tp_rma_asked;
void tp_rma_next(struct tp_channel *channel); /* as fragment_next */
void tp_rma_sent(struct tp_op *op);           /* as fragment_sent */
/* Nothing but a packet that was sent in part refers to it afterwards. */
void tp_rma_cancel(struct tp_op *op);
int32_t tp_rma_put(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);
int32_t tp_rma_get(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);

/* transport_ctx.c */
int32_t tp_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p);
void tp_ctx_destroy(na_plugin_ctx *ctx);
int32_t tp_ctx_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);
int32_t tp_ctx_cancel(na_plugin_ctx *ctx, void *op);
extern const na_plugin_wait tp_ctx_wait;

#endif /* TP_TRANSPORT_PRIVATE_H */

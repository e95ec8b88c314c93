/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole transport for a network that carries bytes to a peer, in order, and has
 * no remote memory access that a plugin could use: sockets, MPI, a message queue.
 * The plugin connects, sends and receives frames; this part has the rest of
 * na_plugin_ops: addresses, contexts, matching, flow control, registrations, put
 * and get by fragments, canceling, sleeping, and what happens when peers fail or
 * lie.
 *
 * The plugin's struct na_plugin_class begins with a struct tp_transport, its
 * struct na_plugin_addr with a struct tp_peer, and its connection with a struct
 * tp_channel; na_plugin_ctx and na_plugin_mem are defined here. One lock guards
 * all: functions below, and the entries of tp_carrier, are called with it held
 * where nothing else is said. None of them blocks.
 */
#ifndef TP_TRANSPORT_H
#define TP_TRANSPORT_H

#include <stdbool.h>
#include <sys/uio.h>

#include "common/address.h"
#include "common/mutex.h"
#include "common/open.h"
#include "common/report.h"
#include "common/system.h"
#include "common/table.h"

#define TP_NAME 80U       /* bytes of a peer's name, with its zero */
#define TP_REQUESTS 16U   /* unanswered fragments of puts and gets */
#define TP_HELLO 24U      /* bytes of a hello, then those of the carrier */
#define TP_HELLO_EXTRA 8U /* at most */
#define TP_SEGMENTS 256U  /* of one registration */

enum tp_frame_kind {
    TP_FRAME_HELLO = 1,  /* the first one in each direction */
    TP_FRAME_UNEXPECTED, /* a message */
    TP_FRAME_EXPECTED,
    TP_FRAME_CREDIT, /* tag: bytes of unexpected messages that may follow */
    TP_FRAME_PUT,    /* a fragment; ANSWER follows, as to GET */
    TP_FRAME_GET,    /* tag: bytes wanted */
    TP_FRAME_ANSWER, /* to a fragment; of a get with its bytes */
};

/* What is sent, and behind it length bytes. On the wire it is little-endian. */
struct tp_frame {
    uint32_t length;
    uint8_t kind;
    uint8_t to; /* contexts */
    uint8_t from;
    uint8_t request; /* of the sender of PUT and GET, also in the ANSWER */
    uint32_t tag;
    int32_t status; /* of ANSWER */
    uint64_t key;   /* of the registration */
    uint64_t offset;
};

/* From or to little-endian. */
void tp_frame_swap(struct tp_frame *frame);

struct tp_op;
struct tp_channel;
struct tp_handlers;

/* A frame to be sent: owned by its channel until tp_channel_sent. */
struct tp_packet {
    struct tp_link link;
    struct tp_list *list; /* a list of the channel; NULL: in none */
    struct tp_op *op;     /* in which it lies; NULL: allocated */
    struct tp_frame frame;
    const void *data; /* frame.length bytes, valid until it was sent */
    uint32_t sent;    /* bytes of frame and data: the carrier counts them. When
                         an operation is canceled, a packet of which a part was
                         sent is copied, else it is withdrawn */
};

/* A fragment that has no answer yet. */
struct tp_request {
    bool busy;
    struct tp_op *op; /* NULL: canceled */
    uint64_t offset;  /* in local memory */
    uint32_t length;  /* of the answer's bytes */
};

/* A connection to a peer. There may be two, if both have connected at once. */
struct tp_channel {
    struct tp_keyed keyed; /* key: its number, never used again */
    struct tp_link link;
    struct tp_link opening; /* until it is open */
    struct tp_transport *transport;
    na_plugin_addr *peer; /* one reference; NULL: not known yet */
    char name[TP_NAME];   /* of the peer, for log lines */
    bool open;            /* the peer's hello is here */
    uint64_t deadline;    /* of opening, by tp_now */
    bool hello_due;       /* hello is to be sent */
    struct tp_packet hello;
    unsigned char hello_bytes[TP_HELLO + TP_HELLO_EXTRA];
    struct tp_list out;       /* packets; only the first is sent in part */
    struct tp_list held;      /* unexpected messages that wait for credit */
    struct tp_list fragments; /* of puts and gets that wait for a turn */
    struct tp_list ops;       /* all that end if the channel does */
    uint32_t max_unexpected;  /* the peer's */
    uint32_t max_expected;
    uint64_t window; /* bytes of unexpected messages that it queues for us */
    uint64_t used;
    uint64_t taken; /* bytes that we have queued for it, or not credited yet */
    uint64_t owed;  /* of which these are to be credited */
    uint32_t answers; /* in out */
    struct tp_request requests[TP_REQUESTS];
};

/* Begins an address. Equal names are one object. */
struct tp_peer {
    struct tp_addr addr;
    struct tp_channel *channel; /* to send by; NULL: none */
    struct tp_list recvs; /* expected receives that end if the peer does */
    char name[TP_NAME];   /* what follows "protocol://" */
};

/* What the plugin does. Constant, and its texts too. */
struct tp_carrier {
    const char *protocol;
    struct tp_offer offer;      /* max_contexts: 1 to NA_PLUGIN_CONTEXTS_MAX */
    uint32_t addr_size;         /* sizeof(struct na_plugin_addr) */
    uint32_t message_size;      /* of messages, unless others are wanted */
    uint32_t message_size_most; /* at most 1 GiB */
    uint32_t fragment;          /* bytes of a put or get in one frame */
    const struct tp_report_line *lines; /* of na.report/1, of the class */
    uint32_t line_count;

    /* What a name stands for, of length bytes without a zero: a user's, which
     * may be resolved, or one that a peer sent, which may not. Fills in the
     * name of a zeroed address, in the one form that equal ones have, and what
     * the plugin has behind it. INVALID_ARG, NOENTRY, logged. Without the lock;
     * may block if resolve. [any thread] */
    int32_t (*addr_parse)(na_plugin_class *cls, const char *text, size_t length,
        bool resolve, na_plugin_addr *addr);
    /* Begins to connect to a peer that has no channel: calls tp_channel_begin,
     * which may precede the network's connection: then flush does nothing, advance
     * tries again (due), and the channel is ended after connect_timeout.
     * HOSTUNREACH, NOMEM, logged. */
    int32_t (*connect)(na_plugin_class *cls, na_plugin_addr *peer);
    /* Sends what tp_channel_next gives, as far as that is possible now. It does
     * not end the channel: errors are left to advance. Called after submissions
     * only. The carrier calls it itself when the network takes more again, and for
     * each channel to which tp_channel_take or _arrived was applied: hellos,
     * answers and credit are to be sent then, and fragments that had waited for
     * an answer. */
    void (*flush)(struct tp_channel *channel);
    /* Receives what is there, calls tp_channel_take or tp_channel_arrived for it,
     * and ends channels whose peer is gone. An error: all contexts are dead. */
    int32_t (*advance)(na_plugin_class *cls);
    /* Whether the peer's host, or the network, has all that was sent. NULL: what
     * was sent is out. */
    bool (*is_out)(struct tp_channel *channel);
    /* What a peer's hello says besides, extra bytes, maybe 0; peer is to be filled
     * in if it is NULL (tp_channel_join). The extra need not be the whole name: a
     * host may come from the connection, and its port from here. False: it is
     * malformed. */
    bool (*hello_received)(struct tp_channel *channel,
        const unsigned char *extra, uint32_t length);
    /* Closes the connection, and frees it. */
    void (*close)(struct tp_channel *channel);
};

/* Begins a class. The plugin sets what is marked after tp_transport_init. */
struct tp_transport {
    const na_plugin_host *host;
    const struct tp_carrier *carrier;
    const struct tp_handlers *handlers; /* for messages, puts and gets */
    struct tp_mutex *lock; /* own_lock, unless several classes share one */
    struct tp_mutex own_lock;
    int descriptor; /* set: readable if there is work; -1: no na.wait/1 */
    bool may_sleep; /* na.wait/1 will be used */
    unsigned char hello_extra[TP_HELLO_EXTRA]; /* set */
    uint32_t hello_extra_length;               /* set */
    uint32_t max_unexpected;
    uint32_t max_expected;
    uint32_t window;          /* tp_transport_window sets it */
    uint32_t longest;         /* bytes behind a frame that is accepted */
    uint64_t connect_timeout; /* set: ns that a peer may take for its hello */
    uint64_t due;             /* set: by tp_now, when advance has work at the
                                 latest without descriptor telling; 0: none */
    na_plugin_addr *self;     /* set: one reference */
    uint64_t last_number;
    struct tp_table numbers; /* of channels */
    struct tp_list channels;
    struct tp_list opening; /* oldest first */
    struct tp_table addrs;
    struct tp_table mems;
    struct tp_random random;
    na_plugin_ctx *contexts[NA_PLUGIN_CONTEXTS_MAX];
    /* messages; puts and gets; peers that broke the protocol, or said no hello;
     * channels that were not closed here */
    _Atomic uint64_t sent, received, strayed, put_bytes, get_bytes, refused,
        malformed, silent, ended;
};

/* CLASSES. Without the lock. */

/* Checks what is asked for, and fills in all but what is marked. What lies behind
 * the struct tp_transport is not touched. INVALID_ARG, PROTONOSUPPORT, NOMEM,
 * logged; to be ended by tp_transport_fini in any case. */
int32_t tp_transport_init(struct tp_transport *transport,
    const struct tp_carrier *carrier, const na_plugin_host *host,
    const na_plugin_open_info *info, const na_plugin_opened *opened);

/* How many bytes of unexpected messages a peer may have waiting here; more, if
 * that is needed for the longest ones. After tp_transport_init. The conformance kit
 * sends up to 32 of the longest before it receives one. */
void tp_transport_window(struct tp_transport *transport, uint64_t bytes);

/* Fills in what open returns, once self is there; the features are the plugin's to
 * set. The operations have the extensions na.wait/1 and na.report/1. */
void tp_transport_opened(
    struct tp_transport *transport, na_plugin_opened *opened);

/* Closes channels, drops self, and frees what the class has, not the class. */
void tp_transport_fini(struct tp_transport *transport);

/* ADDRESSES */

/* A zeroed address, to be filled in and entered; NULL: no memory. */
na_plugin_addr *tp_peer_new(const struct tp_transport *transport);

/* Takes over an address with its name: the one object of this name, with one
 * reference more. */
na_plugin_addr *tp_peer_enter(
    struct tp_transport *transport, na_plugin_addr *addr);

/* One reference less. */
void tp_peer_put(struct tp_transport *transport, na_plugin_addr *addr);

/* CHANNELS */

/* A channel in zeroed memory that begins with its struct tp_channel; the hello is
 * the first that it sends. peer: a reference is taken; NULL: tp_channel_join comes
 * later, and name is the carrier's to fill in. */
void tp_channel_begin(struct tp_channel *channel,
    struct tp_transport *transport, na_plugin_addr *peer);

/* Who the peer is; takes over a reference. This is the channel to send by then; one
 * that the peer had before goes on receiving. */
void tp_channel_join(struct tp_channel *channel, na_plugin_addr *peer);

/* Sends the hello again, after it was lost and before any other packet. */
void tp_channel_send_hello(struct tp_channel *channel);

/* Ends what is pending with a code, and calls close. */
void tp_channel_end(struct tp_channel *channel, int32_t status);

/* The same to a peer that breaks the protocol; logged. */
void tp_channel_refuse(struct tp_channel *channel);

/* The channel of this number; NULL: it has ended. */
struct tp_channel *tp_channel_find(
    const struct tp_transport *transport, uint64_t number);

/* The next packet to be sent; NULL: none may go now. Until it was sent it is
 * returned again, unless it was withdrawn. */
struct tp_packet *tp_channel_next(struct tp_channel *channel);

/* The network has taken, or copied, all of it. It is gone afterwards. */
void tp_channel_sent(struct tp_channel *channel, struct tp_packet *packet);

/* What is left of it, for sendmsg(2): parts of frame_p, which it fills in, and of
 * the data. How many parts. */
int tp_packet_parts(const struct tp_packet *packet, struct tp_frame *frame_p,
    struct iovec parts[2]);

/* Whether all bytes of frame and data are sent. */
static inline bool
tp_packet_is_sent(const struct tp_packet *packet)
{
    return packet->sent == sizeof(packet->frame) + packet->frame.length;
}

/* A frame has arrived, swapped already, with the bytes behind it, which may be
 * overwritten afterwards. False: the peer breaks the protocol; the channel is to
 * be refused. Nothing of it was believed unchecked. */
bool tp_channel_arrived(
    struct tp_channel *channel, const struct tp_frame *frame, const void *data);

/* The same for a stream of bytes, at any alignment: takes the whole frames that
 * are there, and says how many bytes these were; the rest is to come again, with
 * more behind it. A buffer of twice tp_transport_room bytes always has room for
 * more. A network of records may cut frames anywhere: then the buffer has room for
 * tp_transport_room bytes and a record. -1: as false above. */
int64_t tp_channel_take(
    struct tp_channel *channel, const unsigned char *bytes, size_t length);

/* Bytes of the longest frame, with what is behind it. */
static inline uint32_t
tp_transport_room(const struct tp_transport *transport)
{
    return transport->longest + (uint32_t) sizeof(struct tp_frame);
}

#endif /* TP_TRANSPORT_H */

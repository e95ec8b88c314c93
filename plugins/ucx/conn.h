/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections: one UCX endpoint each. What a callback of UCX or a submission finds
 * out about one is noted here and reported in two lists of the class, failed and
 * touched, which progress alone consumes (work.h). Every function wants the lock
 * held.
 */
#ifndef UCX_CONN_H
#define UCX_CONN_H

#include "class.h"
#include "wire.h"

struct ucx_peer;

/* The last message by a connection: that nothing more comes, and, once the
 * peer's has been heard, that too. */
enum ucx_close {
    UCX_CLOSE_NONE,
    UCX_CLOSE_SAID,
    UCX_CLOSE_ANSWERED,
};

enum ucx_conn_state {
    UCX_CONN_CALLING, /* ours; said hello, no answer yet */
    UCX_CONN_CALLED,  /* the peer's; no hello yet */
    UCX_CONN_UP,
    UCX_CONN_CLOSED, /* UCX still has tx buffers of it */
};

struct ucx_conn {
    struct tp_link link;         /* in class.conns or .closed */
    struct tp_link by_peer;      /* in peer.conns, while it is up */
    struct tp_link failed_link;  /* in class.failed */
    struct tp_link touched_link; /* in class.touched */
    struct tp_keyed token;       /* in class.tokens; what messages by it to us
                                    carry, random */
    na_plugin_class *cls;
    ucp_ep_h ep;
    uint8_t state;      /* enum ucx_conn_state */
    bool ours;          /* this class called */
    bool failed;        /* reported down */
    bool touched;       /* reported to have something to do */
    bool told;          /* the log says that calls to its address fail */
    bool first;         /* ours: nobody was ever connected by its address */
    bool expected;      /* to end: UCX is polled in turn (turn.h) */
    bool retiring;      /* nothing new is sent by it: there is a better one */
    uint8_t close_sent; /* enum ucx_close */
    bool close_heard;
    bool close_answered; /* the peer has heard ours */
    bool rma_known;      /* whether this is known: */
    bool rma_native;     /* UCX has a lane for puts and gets */
    bool rma_reach; /* of all that is registered, not only of mapped memory */
    int32_t error;  /* failed: with what operations end */
    struct sockaddr_storage client; /* who called, or is called by this class */
    socklen_t client_length;        /* ours: bytes of that */
    struct ucx_peer *peer;          /* one reference; NULL before hello */
    na_plugin_addr *addr;           /* one reference; called, or how the peer is
                              reported; NULL: the peer called, no hello */
    uint64_t peer_token;            /* what ours carry */
    uint64_t serial;                /* counts the calls of who made it */
    uint64_t deadline_ns; /* CALLING, CALLED, or retiring: when to give up */
    char peer_name[UCX_NAME_MAX + 1]; /* who it is, for the log */

    struct tp_list queue; /* sends that wait for room */
    struct tp_list txs;   /* tx buffers that UCX is sending */
    uint64_t tx_bytes;
    uint32_t answers; /* of them, those that answer the peer's puts and gets */
    uint64_t window;  /* bytes of unexpected messages the peer has room for */
    uint64_t used;    /* of these: not given back yet */
    uint64_t kept;    /* bytes of its unexpected messages that we keep */
    uint64_t credits; /* room to be given back to it */
    bool seen;        /* a message has come; before that UCX opens things */
    uint8_t unheard;  /* looks for silence, and one, since something was sent
                         after we last heard of it; 0: nothing was */

    struct tp_list rma; /* puts and gets by messages that are not all sent */
    struct tp_list rma_sent;  /* and those that only wait for answers */
    uint32_t fragments;       /* sent, and not answered */
    uint32_t quiet;           /* of puts, since an answer was wanted */
    struct ucx_fragment put;  /* the peer's: done, and not answered yet */
    uint64_t refused;         /* number of the peer's put that failed */
    struct tp_list flying;    /* operations that UCX has */
    struct ucx_keyring *keys; /* remote keys unpacked for this endpoint */
};

static inline struct ucx_conn *
ucx_conn_of(struct tp_link *link)
{
    return TP_OBJECT(link, struct ucx_conn, link);
}

/* A new one with a token and without an endpoint, in class.conns. NULL: no
 * memory. name: for the log. */
struct ucx_conn *ucx_conn_new(
    na_plugin_class *cls, enum ucx_conn_state state, const char *name);

/* Takes its token back: no message finds it any more. */
void ucx_conn_forget_token(struct ucx_conn *conn);

/* The connection that a message names by its token, NULL if there is none. */
struct ucx_conn *ucx_conn_find(const na_plugin_class *cls, uint64_t token);

/* The one with this endpoint that has not said hello yet, NULL likewise. */
struct ucx_conn *ucx_conn_find_called(const na_plugin_class *cls, ucp_ep_h ep);

/* Reports that it has something for progress to do. */
void ucx_conn_touch(struct ucx_conn *conn);

/* Reports that it is down, and with which code its operations end. */
void ucx_conn_fail(struct ucx_conn *conn, int32_t error);

/* The same, with the code of UCX's status; logged. */
void ucx_conn_lost(struct ucx_conn *conn, ucs_status_t status);

/* The same, because of what the peer sent; logged. */
void ucx_conn_break(struct ucx_conn *conn, const char *why);

/* The same, because its deadline has passed; logged if it was not up. */
void ucx_conn_expire(struct ucx_conn *conn);

/* Something was sent by it. */
static inline void
ucx_conn_sent(struct ucx_conn *conn)
{
    if (conn->unheard == 0) {
        conn->unheard = 1;
        ucx_deadline(conn->cls, conn->cls->look_ns);
    }
}

/* Whether what was sent by it had no answer for ucx.host_timeout. */
bool ucx_conn_is_silent(const struct ucx_conn *conn);

/* The peer gets credits back for this many bytes. */
void ucx_conn_credit(struct ucx_conn *conn, uint64_t bytes);

/* This many bytes of the peer's unexpected messages are kept. */
void ucx_conn_keep(struct ucx_conn *conn, uint64_t bytes);

/* Whether the peer gets its credits back now. */
bool ucx_conn_credits_due(const struct ucx_conn *conn);

/* UCX may have opened descriptors for a connection, and may do so again: they are
 * marked, now or soon. */
void ucx_conn_mark(na_plugin_class *cls, bool again);

/* What a status of UCX means for an operation. */
int32_t ucx_conn_code(ucs_status_t status);

#endif /* UCX_CONN_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ends of the NA interface: ours, which a case drives, and the peer, which
 * does what a message's first byte asks for. The peer is in the same class, in
 * another class that the same thread progresses, or in another process.
 */
#ifndef NA_PAIR_H
#define NA_PAIR_H

#include "na.h"
#include "session.h"

#define NA_PAIR_MEMORY ((size_t) 1 << 20) /* bytes that the peer exposes */

/* What a message asks for: the byte behind the header. The answer is an
 * expected message with the same tag. */
enum na_ask {
    NA_ASK_ECHO = 'E',   /* answer: the same payload */
    NA_ASK_MEMORY = 'M', /* answer: its memory, serialized */
    NA_ASK_BYTES = 'B',  /* u32 offset, u32 length: so many of the memory */
    NA_ASK_SILENCE = 'S' /* no answer */
};

/* One operation and what its last callback said. */
struct na_end {
    na_op_id_t *op;
    char *buffer; /* NULL if it has none */
    void *buffer_data;
    size_t buffer_size;
    _Atomic uint32_t called;
    na_return_t ret;
    na_cb_type_t type;
    size_t length; /* of a message received, header included */
    na_tag_t tag;
};

struct na_peer;

struct na_pair {
    const struct session_mode *mode;
    na_class_t *na_class;
    na_context_t *context;
    na_addr_t *addr;      /* the peer's */
    struct na_peer *peer; /* NULL: in another process */
    struct session_shared *shared;
    pid_t process;
};

/* First call of a test; SESSION_THREADS is two classes in one thread here. */
void na_pair_begin(struct na_pair *pair, int mode);

/* Everything was given back, and nothing unannounced logged. */
void na_pair_end(struct na_pair *pair);

/* The peer receives no more, or again, when it is in this process. */
void na_pair_deafen(struct na_pair *pair);
void na_pair_listen(struct na_pair *pair);

/* An operation, with a buffer of size bytes unless that is 0. */
void na_end_open(struct na_pair *pair, struct na_end *end, size_t size);
void na_end_close(struct na_pair *pair, struct na_end *end);

/* For the arguments callback and arg of an operation. */
void na_end_called(const struct na_cb_info *info);

/* Progresses and triggers both sides, as far as they are in this process. */
void na_pair_step(struct na_pair *pair, unsigned timeout_ms);
#define na_pair_wait(pair, end, called)                                        \
    na_pair_wait_at(pair, end, called, #end, __FILE__, __LINE__)
void na_pair_wait_at(struct na_pair *pair, struct na_end *end, uint32_t called,
    const char *what, const char *file, int line);
void na_pair_quiet(struct na_pair *pair);

/* Where the payload begins. */
size_t na_send_header(const struct na_pair *pair);
size_t na_recv_header(const struct na_pair *pair);

/* Sends a request of length bytes of payload that is in send's buffer, receives
 * the answer with recv. The submissions succeed; returns how the receive
 * ended. */
na_return_t na_pair_call(struct na_pair *pair, struct na_end *send,
    struct na_end *recv, size_t length, na_tag_t tag);

/* The largest messages, headers included. */
size_t na_pair_max_unexpected(const struct na_pair *pair);
size_t na_pair_max_expected(const struct na_pair *pair);

/* One end to send requests with, one to receive answers, of these sizes. */
void na_pair_open(
    struct na_pair *pair, struct na_end *send, struct na_end *recv);
void na_pair_close(
    struct na_pair *pair, struct na_end *send, struct na_end *recv);

/* Asks for length bytes of payload, and has them back. */
void na_pair_echo(struct na_pair *pair, struct na_end *send,
    struct na_end *recv, size_t length, na_tag_t tag);

#endif /* NA_PAIR_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two endpoints of the NA interface: the local one, which the case drives, and
 * the peer, which does what the first payload byte of a message asks for. The
 * peer is in the same class, in another class progressed by the same thread, or
 * in another process.
 */
#ifndef NA_PAIR_H
#define NA_PAIR_H

#include "na.h"
#include "session.h"

/* size in bytes of the memory that the peer exposes */
#define NA_PAIR_MEMORY ((size_t) 1 << 20)

/* Commands to the peer: the first byte after the header. The answer is an
 * expected message with the same tag. */
enum na_ask {
    NA_ASK_ECHO = 'E',   /* answer: the payload of the request */
    NA_ASK_MEMORY = 'M', /* answer: the peer's serialized memory handle */
    /* u32 offset, u32 length; answer: that part of the peer's memory */
    NA_ASK_BYTES = 'B',
    NA_ASK_SILENCE = 'S' /* no answer */
};

/* An operation and the result of its last callback. */
struct na_end {
    na_op_id_t *op;
    char *buffer; /* NULL: no buffer */
    void *buffer_data;
    size_t buffer_size;
    _Atomic uint32_t called;
    na_return_t ret;
    na_cb_type_t type;
    size_t length; /* of the received message, header included */
    na_tag_t tag;
};

struct na_peer;

struct na_pair {
    const struct session_mode *mode;
    na_class_t *na_class;
    na_context_t *context;
    na_addr_t *addr;      /* the peer's address */
    struct na_peer *peer; /* NULL: the peer is in another process */
    struct session_shared *shared;
    pid_t process;
};

/* First call of a case. SESSION_THREADS is two classes in one thread here. */
void na_pair_begin(struct na_pair *pair, int mode);

/* Ends the pair. Fails the case if anything leaked or an unexpected line was
 * logged. */
void na_pair_end(struct na_pair *pair);

/* Stops or resumes the receives of a peer in this process. */
void na_pair_stop_receiving(struct na_pair *pair);
void na_pair_resume_receiving(struct na_pair *pair);

/* Creates an operation, with a buffer of size bytes unless size is 0. */
void na_end_open(struct na_pair *pair, struct na_end *end, size_t size);
void na_end_close(struct na_pair *pair, struct na_end *end);

/* Callback for an operation; its arg is the na_end. */
void na_end_called(const struct na_cb_info *info);

/* Progresses and triggers the sides that run in this process. */
void na_pair_step(struct na_pair *pair, unsigned timeout_ms);
#define na_pair_wait(pair, end, called)                                        \
    na_pair_wait_at(pair, end, called, #end, __FILE__, __LINE__)
void na_pair_wait_at(struct na_pair *pair, struct na_end *end, uint32_t called,
    const char *what, const char *file, int line);
void na_pair_quiet(struct na_pair *pair);

/* First payload byte in a message buffer. */
size_t na_send_header(const struct na_pair *pair);
size_t na_recv_header(const struct na_pair *pair);

/* Sends the request in send's buffer, with length bytes of payload, and
 * receives the answer with recv. Asserts that both submissions succeed; returns
 * the result of the receive. */
na_return_t na_pair_call(struct na_pair *pair, struct na_end *send,
    struct na_end *recv, size_t length, na_tag_t tag);

/* Largest message sizes, headers included. */
size_t na_pair_max_unexpected(const struct na_pair *pair);
size_t na_pair_max_expected(const struct na_pair *pair);

/* Opens one endpoint that sends requests and one that receives answers, with
 * buffers of these sizes. */
void na_pair_open(
    struct na_pair *pair, struct na_end *send, struct na_end *recv);
void na_pair_close(
    struct na_pair *pair, struct na_end *send, struct na_end *recv);

/* Sends length bytes of payload and checks that the peer echoes them. */
void na_pair_echo(struct na_pair *pair, struct na_end *send,
    struct na_end *recv, size_t length, na_tag_t tag);

#endif /* NA_PAIR_H */

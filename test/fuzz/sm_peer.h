/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer of an sm class, in the same process: a socket, a ring, and
 * actions by a fuzzer's input. */
#ifndef SM_PEER_H
#define SM_PEER_H

#include "fuzz.h"

#include "class.h"
#include "hello.h"
#include "ring.h"

#define SM_PEER_OWNER 77U /* number of the peer's class */

struct sm_peer {
    struct fuzz_class *cls;
    int fd;
    int memory;           /* of the ring */
    struct sm_ring_tx tx; /* what is sent to the class */
    struct sm_ring_rx rx; /* what the class sends, after the answer */
};

/* Calls the class, with a ring that is to be passed to it. */
void sm_peer_open(struct sm_peer *peer, struct fuzz_class *cls);
void sm_peer_close(struct sm_peer *peer);

/* A hello without a fault. */
struct sm_hello sm_peer_hello(void);

/* The peer's own name, as text of an address. */
extern char sm_peer_text[64];

/* Sends a packet with up to 3 descriptors. */
void sm_peer_send(const struct sm_peer *peer, const void *bytes, size_t length,
    const int *fds, size_t count);

/* Reads what the class has sent, and its ring. */
void sm_peer_hear(struct sm_peer *peer);

/* Polls the class, which polls its sockets every time. */
void sm_peer_poll(struct sm_peer *peer);

/* One of several descriptors that a peer could pass: sealed memory and other. The
 * caller closes it. */
int sm_peer_descriptor(const struct sm_peer *peer, unsigned kind);

#endif /* SM_PEER_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer over the loop plugin that makes its messages itself: whole ones, to
 * which an input then does what it likes.
 */
#ifndef STRANGER_H
#define STRANGER_H

#include "fuzz.h"
#include "loop_plugin.h"

#include "hg/handle.h"
#include "mercury.h"
#include "mercury_proc.h"

#define STRANGER_MESSAGE_MAX 4096U

/* Bytes of any number: the arguments and results here. */
typedef struct {
    uint32_t size;
    uint8_t *data;
} blob_t;
hg_return_t hg_proc_blob_t(hg_proc_t proc, void *data);

/* Opens the stranger, and the transport of the class that it talks to, which is
 * opened for each input on that. */
void stranger_open(void);

/* A class with checksum_level and one context. */
struct stranger_peer {
    hg_class_t *hg_class;
    hg_context_t *context;
    char address[64];
};
void stranger_peer_open(struct stranger_peer *peer, uint8_t checksum_level);
/* It ends well, and nothing is left pending. */
void stranger_peer_close(struct stranger_peer *peer);

/* Progresses and triggers until nothing comes. */
void stranger_peer_step(const struct stranger_peer *peer);

/* The stranger's address. To be freed by the peer. */
hg_addr_t stranger_addr(const struct stranger_peer *peer);

/* A message of the stranger's. */
struct stranger_message {
    uint8_t bytes[STRANGER_MESSAGE_MAX];
    size_t size;
    size_t header; /* bytes of it */
};

/* A header, from the input's flags on, and what follows it: an input's bytes;
 * or, with HG_HEADER_MORE among the flags, a reference to such in the stranger's
 * memory, whose validity cookie the input may break. The sums are right. */
void stranger_request(struct fuzz_input *input,
    struct stranger_message *message, uint8_t flags, hg_id_t id,
    uint32_t cookie);
void stranger_response(struct fuzz_input *input,
    struct stranger_message *message, uint8_t flags, uint32_t cookie);

/* The input's own bytes. */
void stranger_raw(
    struct fuzz_input *input, struct stranger_message *message, size_t header);

/* Patches a message, and, if the input wants that, puts the sum of the header
 * right. */
void stranger_spoil(struct fuzz_input *input, struct stranger_message *message);

/* kind: LOOP_SEND_*. */
void stranger_send(const struct stranger_peer *peer, enum loop_kind kind,
    const struct stranger_message *message, uint64_t tag);

#endif /* STRANGER_H */

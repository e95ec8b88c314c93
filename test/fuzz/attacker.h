/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer over the loop plugin that forges its messages: valid ones, which an
 * input then corrupts.
 */
#ifndef ATTACKER_H
#define ATTACKER_H

#include "fuzz.h"
#include "loop_plugin.h"

#include "hg/handle.h"
#include "mercury.h"
#include "mercury_proc.h"

#define ATTACKER_MESSAGE_MAX 4096U

/* Bytes of any number: the arguments and results here. */
typedef struct {
    uint32_t size;
    uint8_t *data;
} blob_t;
hg_return_t hg_proc_blob_t(hg_proc_t proc, void *data);

/* Opens the attacker, and the transport of the class that it talks to, which is
 * opened for each input on that. */
void attacker_open(void);

/* A class with checksum_level and one context. */
struct attacker_peer {
    hg_class_t *hg_class;
    hg_context_t *context;
    char address[64];
};
void attacker_peer_open(struct attacker_peer *peer, uint8_t checksum_level);
/* Requires that it closes without an error and without pending work. */
void attacker_peer_close(struct attacker_peer *peer);

/* Progresses and triggers until no event arrives. */
void attacker_peer_step(const struct attacker_peer *peer);

/* The attacker's address. To be freed by the peer. */
hg_addr_t attacker_addr(const struct attacker_peer *peer);

/* A forged message. */
struct attacker_message {
    uint8_t bytes[ATTACKER_MESSAGE_MAX];
    size_t size;
    size_t header; /* bytes of it */
};

/* A header, from the input's flags on, and what follows it: an input's bytes;
 * or, with HG_HEADER_MORE among the flags, a reference to such in the attacker's
 * memory, whose validity cookie the input may break. The sums are right. */
void attacker_request(struct fuzz_input *input,
    struct attacker_message *message, uint8_t flags, hg_id_t id,
    uint32_t cookie);
void attacker_response(struct fuzz_input *input,
    struct attacker_message *message, uint8_t flags, uint32_t cookie);

/* The input's own bytes. */
void attacker_raw(
    struct fuzz_input *input, struct attacker_message *message, size_t header);

/* Patches a message, and, if the input selects that, puts the sum of the header
 * right. */
void attacker_corrupt(
    struct fuzz_input *input, struct attacker_message *message);

/* kind: LOOP_SEND_*. */
void attacker_send(const struct attacker_peer *peer, enum loop_kind kind,
    const struct attacker_message *message, uint64_t tag);

#endif /* ATTACKER_H */

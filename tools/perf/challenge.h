/* SPDX-License-Identifier: BSD-3-Clause */
/* What a server with a token has asked its clients to prove: one number for
 * each client that is about to open a session, for one try. */
#ifndef PERF_CHALLENGE_H
#define PERF_CHALLENGE_H

#include <mercury.h>

#include "common/token.h"

/* Strangers push out one another's, the oldest first. */
#define PERF_CHALLENGES_MAX 64

struct perf_challenge {
    uint64_t id;    /* 0: free */
    uint64_t order; /* greater: younger */
    hg_addr_t addr;
    token_key_t client_nonce;
    token_key_t server_nonce;
};

struct perf_challenges {
    hg_class_t *hg_class;
    uint64_t last; /* order */
    struct perf_challenge all[PERF_CHALLENGES_MAX];
};

/* Makes a challenge for a client, whose former one is worth nothing any more.
 * NULL: out of memory or no randomness. The address is borrowed. */
const struct perf_challenge *perf_challenge_create(
    struct perf_challenges *challenges, hg_addr_t addr,
    const token_key_t *client_nonce);

/* Ends a challenge; whether it is this client's, and answered by the token.
 * *answer_p: the server's own proof. */
bool perf_challenge_answer(struct perf_challenges *challenges, hg_addr_t addr,
    uint64_t id, const struct token *token, const token_key_t *proof,
    token_key_t *answer_p);

/* Forgets all. */
void perf_challenges_clear(struct perf_challenges *challenges);

/* What both sides prove the token for. */
void perf_challenge_binding(uint64_t id, const token_key_t *client_nonce,
    const token_key_t *server_nonce, struct token_binding *binding_p);

#endif /* PERF_CHALLENGE_H */

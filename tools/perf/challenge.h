/* SPDX-License-Identifier: BSD-3-Clause */
/* The challenges of a server with a token: one nonce for each client that will
 * open a session, valid for one attempt. */
#ifndef PERF_CHALLENGE_H
#define PERF_CHALLENGE_H

#include <mercury.h>

#include "common/token.h"

/* When all are used, the oldest is replaced, since any peer can request one. */
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

/* Creates a challenge for a client and invalidates its previous one. Copies the
 * address. NULL: out of memory or no random numbers. */
const struct perf_challenge *perf_challenge_create(
    struct perf_challenges *challenges, hg_addr_t addr,
    const token_key_t *client_nonce);

/* Ends a challenge. Returns whether it is this client's and the proof is right.
 * *answer_p: the server's proof. */
bool perf_challenge_answer(struct perf_challenges *challenges, hg_addr_t addr,
    uint64_t id, const struct token *token, const token_key_t *proof,
    token_key_t *answer_p);

/* Ends all challenges. */
void perf_challenges_clear(struct perf_challenges *challenges);

/* Sets the binding of the proofs of both sides. */
void perf_challenge_binding(uint64_t id, const token_key_t *client_nonce,
    const token_key_t *server_nonce, struct token_binding *binding_p);

#endif /* PERF_CHALLENGE_H */

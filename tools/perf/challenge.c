/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and answers challenges; the oldest one is replaced. */
#include "perf/challenge.h"

#include <sys/random.h>

#include "perf/control.h"

void
perf_challenge_binding(uint64_t id, const token_key_t *client_nonce,
    const token_key_t *server_nonce, struct token_binding *binding_p)
{
    *binding_p = (struct token_binding){
        "talaria perf", PERF_CONTROL_VERSION, id, *client_nonce, *server_nonce};
}

static void
clear(struct perf_challenges *challenges, struct perf_challenge *challenge)
{
    if (challenge->id != 0)
        HG_Addr_free(challenges->hg_class, challenge->addr);
    *challenge = (struct perf_challenge){.id = 0};
}

void
perf_challenges_clear(struct perf_challenges *challenges)
{
    for (int i = 0; i < PERF_CHALLENGES_MAX; i++)
        clear(challenges, &challenges->all[i]);
}

/* Returns the client's previous challenge, a free one, or the oldest. */
static struct perf_challenge *
choose(struct perf_challenges *challenges, hg_addr_t addr)
{
    struct perf_challenge *oldest = &challenges->all[0];

    for (int i = 0; i < PERF_CHALLENGES_MAX; i++) {
        struct perf_challenge *challenge = &challenges->all[i];

        if (challenge->id != 0 &&
            HG_Addr_cmp(challenges->hg_class, challenge->addr, addr))
            return challenge;
        if (challenge->order < oldest->order)
            oldest = challenge;
    }
    return oldest;
}

const struct perf_challenge *
perf_challenge_create(struct perf_challenges *challenges, hg_addr_t addr,
    const token_key_t *client_nonce)
{
    struct perf_challenge *challenge = choose(challenges, addr);

    clear(challenges, challenge);
    challenge->client_nonce = *client_nonce;
    if (!token_nonce(&challenge->server_nonce) ||
        HG_Addr_dup(challenges->hg_class, addr, &challenge->addr) != HG_SUCCESS)
        return NULL;
    while (challenge->id == 0)
        if (getrandom(&challenge->id, sizeof challenge->id, 0) < 0) {
            HG_Addr_free(challenges->hg_class, challenge->addr);
            challenge->id = 0;
            return NULL;
        }
    challenge->order = ++challenges->last;
    return challenge;
}

bool
perf_challenge_answer(struct perf_challenges *challenges, hg_addr_t addr,
    uint64_t id, const struct token *token, const token_key_t *proof,
    token_key_t *answer_p)
{
    struct perf_challenge *challenge = NULL;
    struct token_binding binding;
    bool right;

    for (int i = 0; i < PERF_CHALLENGES_MAX && id != 0; i++)
        if (challenges->all[i].id == id &&
            HG_Addr_cmp(challenges->hg_class, challenges->all[i].addr, addr))
            challenge = &challenges->all[i];
    if (!challenge)
        return false;
    perf_challenge_binding(
        id, &challenge->client_nonce, &challenge->server_nonce, &binding);
    clear(challenges, challenge);
    right = token_check(token, TOKEN_CLIENT, &binding, proof);
    if (right)
        token_prove(token, TOKEN_SERVER, &binding, answer_p);
    return right;
}

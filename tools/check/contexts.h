/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the cases of several contexts. */
#ifndef KIT_CONTEXTS_H
#define KIT_CONTEXTS_H

#include "check/class.h"
#include "check/peers.h"

#define N 3U     /* contexts of a class */
#define PAIRS 9U /* N * N */

static const struct kit_open_options three
    __attribute__((unused)) = {.contexts = N};

/* Returns a request for a message between contexts, to be completed. */
static inline struct kit_request
between(enum kit_kind kind, uint32_t op, uint32_t ctx, uint32_t peer,
    uint32_t peer_ctx)
{
    return (struct kit_request){.kind = kind,
        .op = op,
        .ctx = ctx,
        .peer = peer,
        .peer_ctx = peer_ctx,
        .own_buffer = op % 2 == 1};
}

#endif /* KIT_CONTEXTS_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Bringing messages and receives of a context together, and keeping what has
 * come first. Every function wants the lock held. */
#ifndef UCX_MATCH_H
#define UCX_MATCH_H

#include "ucx.h"

/* A message that has arrived. */
struct ucx_arrival {
    na_plugin_addr *from;  /* how the sender is reported */
    const void *whose;     /* its peer, or this class's own address */
    struct ucx_conn *conn; /* NULL: from oneself */
    const void *data;
    uint32_t length;
    uint32_t tag;
    uint8_t context; /* the sender's */
};

int32_t ucx_match_init(na_plugin_ctx *ctx);

/* Frees the tables, and what has been kept. */
void ucx_match_fini(na_plugin_ctx *ctx);

/* Delivers a message, or keeps it. False: no memory to keep it. */
bool ucx_match_unexpected(
    na_plugin_ctx *ctx, const struct ucx_arrival *arrival);
void ucx_match_expected(na_plugin_ctx *ctx, const struct ucx_arrival *arrival);

/* Posts a receive, or ends it with a message that is there. */
void ucx_match_post(na_plugin_ctx *ctx, struct ucx_op *op);

/* Takes a posted receive, of any kind, away. */
void ucx_match_unpost(na_plugin_ctx *ctx, struct ucx_op *op);

/* Ends all receives from whose, and drops what was kept of its expected
 * messages. */
void ucx_match_drop(na_plugin_ctx *ctx, const void *whose, int32_t status);

/* Receives posted for from go under to. */
void ucx_match_rename(na_plugin_ctx *ctx, const void *from, const void *to);

/* What an expected message is matched by besides who sent it. */
static inline uint64_t
ucx_match_key(uint32_t context, uint32_t tag)
{
    return (uint64_t) context << 32 | tag;
}

#endif /* UCX_MATCH_H */

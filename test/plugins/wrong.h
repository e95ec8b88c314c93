/* SPDX-License-Identifier: BSD-3-Clause */
/* A plugin that violates the ABI in one way. */
#ifndef WRONG_H
#define WRONG_H

#include "common/event.h"
#include "common/match.h"
#include "na_plugin.h"

#define WRONG_SIZE 4096U

struct na_plugin_class {
    const char *way; /* the violation; "" for none */
    uint32_t addr_refs;
};

enum wrong_kind { WRONG_UNEXPECTED, WRONG_EXPECTED, WRONG_KINDS };

/* Its operations are struct tp_recv, sends too; key: the tag. */
struct na_plugin_ctx {
    na_plugin_class *cls;
    int fd;
    struct tp_list sends[WRONG_KINDS];
    struct tp_list receives[WRONG_KINDS];
    struct tp_events events;
    uint32_t dying; /* polls left before the violation; 0: no limit */
    uint32_t polls; /* of "poll_again_one_more" */
};

/* Whether the class has this violation. */
bool wrong_is(const na_plugin_class *cls, const char *way);

int32_t wrong_send_unexpected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t wrong_recv_unexpected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags);
int32_t wrong_send_expected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t wrong_recv_expected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t wrong_put(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);
int32_t wrong_get(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);
int32_t wrong_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);
int32_t wrong_cancel(na_plugin_ctx *ctx, void *op);

#endif /* WRONG_H */

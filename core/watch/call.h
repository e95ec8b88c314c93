/* SPDX-License-Identifier: BSD-3-Clause */
/* What the hooks read of the core's handles. */
#ifndef WATCH_CALL_H
#define WATCH_CALL_H

#include "hg/handle.h"
#include "hg/stage.h"
#include "hg/watch.h"

#include <time.h>

#define WATCH_ADDRESS_SIZE 128U

/* The core's functions. */
extern struct hg_watch_core watch_core;

static inline uint64_t
watch_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000U + (uint64_t) now.tv_nsec;
}

static inline uint64_t
watch_in_size(const struct hg_handle *handle)
{
    return hg_payload_size(&handle->in, handle->context->hg_class->in_offset);
}

static inline uint64_t
watch_out_size(const struct hg_handle *handle)
{
    return hg_payload_size(&handle->out, handle->context->hg_class->out_offset);
}

/* Returns the name of the handle's RPC. */
static inline const char *
watch_rpc_name(const struct hg_handle *handle)
{
    if (!handle->rpc)
        return "not registered";
    return handle->rpc->name ? handle->rpc->name : "";
}

/* Writes the address of the handle's peer; "?" if it has none. */
void watch_peer_address(
    const struct hg_handle *handle, char address[WATCH_ADDRESS_SIZE]);

#endif /* WATCH_CALL_H */

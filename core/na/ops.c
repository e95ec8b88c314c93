/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The copy of a plugin's operations. Optional operations that the plugin lacks
 * are stubs that return OPNOTSUPPORTED. Entries that the core doesn't know are
 * ignored.
 */
#include "na/class.h"

#include <stddef.h>
#include <string.h>

static int32_t
addr_to_string_stub(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p)
{
    return NA_PLUGIN_E_OPNOTSUPPORTED;
}

static int32_t
addr_serialize_stub(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p)
{
    return NA_PLUGIN_E_OPNOTSUPPORTED;
}

static int32_t
addr_deserialize_stub(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_addr **addr_p)
{
    return NA_PLUGIN_E_OPNOTSUPPORTED;
}

static void
addr_forget_stub(na_plugin_class *cls, na_plugin_addr *addr)
{
}

static int32_t
mem_register_stub(
    na_plugin_class *cls, const na_plugin_mem_info *info, na_plugin_mem **mem_p)
{
    return NA_PLUGIN_E_OPNOTSUPPORTED;
}

static void
mem_release_stub(na_plugin_class *cls, na_plugin_mem *mem)
{
}

static int32_t
mem_serialize_stub(na_plugin_class *cls, const na_plugin_mem *mem, void *buffer,
    uint64_t *size_p)
{
    return NA_PLUGIN_E_OPNOTSUPPORTED;
}

static int32_t
mem_deserialize_stub(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_mem **mem_p)
{
    return NA_PLUGIN_E_OPNOTSUPPORTED;
}

static int32_t
rma_stub(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    return NA_PLUGIN_E_OPNOTSUPPORTED;
}

static const void *
extension_stub(na_plugin_class *cls, const char *id)
{
    return NULL;
}

/* Entries that release something share one stub. */
#define mem_deregister_stub mem_release_stub
#define mem_remote_free_stub mem_release_stub
#define put_stub rma_stub
#define get_stub rma_stub

/* A stub for each entry that na_plugin.h says is optional, and for no other. */
#define STUB(name) .name = name##_stub,
static const na_plugin_ops stubs = {
    .size = sizeof(na_plugin_ops), NA_PLUGIN_OPS_OPTIONAL(STUB)};

static int32_t
dead_send(na_plugin_ctx *ctx, void *op, const void *buffer, uint64_t length,
    void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    uint32_t flags)
{
    return NA_PLUGIN_E_IO_ERROR;
}

static int32_t
dead_recv_unexpected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags)
{
    return NA_PLUGIN_E_IO_ERROR;
}

static int32_t
dead_recv_expected(na_plugin_ctx *ctx, void *op, void *buffer, uint64_t length,
    void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    uint32_t flags)
{
    return NA_PLUGIN_E_IO_ERROR;
}

static int32_t
dead_rma(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    return NA_PLUGIN_E_IO_ERROR;
}

static int32_t
dead_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    return NA_PLUGIN_E_IO_ERROR;
}

static int32_t
dead_cancel(na_plugin_ctx *ctx, void *op)
{
    return NA_PLUGIN_OK;
}

const na_plugin_ops na_ops_dead = {
    .size = sizeof(na_plugin_ops),
    .send_unexpected = dead_send,
    .recv_unexpected = dead_recv_unexpected,
    .send_expected = dead_send,
    .recv_expected = dead_recv_expected,
    .put = dead_rma,
    .get = dead_rma,
    .poll = dead_poll,
    .cancel = dead_cancel,
};

/* Names of the entries in order, to report a missing one. */
static const char *const entry_names[] = {"ctx_create", "ctx_destroy",
    "addr_self", "addr_lookup", "addr_dup", "addr_free", "addr_equal",
    "addr_hash", "addr_to_string", "addr_serialize", "addr_deserialize",
    "addr_forget", "buf_alloc", "buf_free", "buf_init", "send_unexpected",
    "recv_unexpected", "send_expected", "recv_expected", "mem_register",
    "mem_deregister", "mem_serialize", "mem_deserialize", "mem_remote_free",
    "put", "get", "poll", "cancel", "extension"};

#define ENTRY_FIRST offsetof(na_plugin_ops, ctx_create)
#define ENTRY_SIZE sizeof(void (*)(void))
#define NAME_COUNT (sizeof entry_names / sizeof entry_names[0])
#define ENTRY_COUNT ((sizeof(na_plugin_ops) - ENTRY_FIRST) / ENTRY_SIZE)

_Static_assert(ENTRY_FIRST + NAME_COUNT * ENTRY_SIZE == NA_PLUGIN_OPS_SIZE_1_0,
    "every entry of 1.0 has a name");

na_return_t
na_ops_copy(
    na_plugin_ops *ops, const na_plugin_ops *plugin_ops, const char **missing_p)
{
    static const char absent[ENTRY_SIZE];

    *ops = stubs;
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        size_t offset = ENTRY_FIRST + i * ENTRY_SIZE;
        const char *from = (const char *) plugin_ops + offset;
        char *to = (char *) ops + offset;

        if (offset + ENTRY_SIZE <= plugin_ops->size &&
            memcmp(from, absent, ENTRY_SIZE) != 0)
            memcpy(to, from, ENTRY_SIZE);
        /* Later entries are checked where they are used. */
        if (i < NAME_COUNT && memcmp(to, absent, ENTRY_SIZE) == 0) {
            *missing_p = entry_names[i];
            return NA_INVALID_ARG;
        }
    }
    return NA_SUCCESS;
}

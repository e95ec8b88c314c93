/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of a plugin for a class. Results are checked before they are used:
 * codes, outputs and sizes. A violation of the ABI is reported (na/violation.h)
 * and returned as PROTOCOL_ERROR. */
#ifndef NA_CALL_H
#define NA_CALL_H

#include "na/class.h"

#include <stdbool.h>

/* addr_dup, addr_free and addr_forget. */
static inline void
na_addr_dup(const struct na_class *na_class, na_plugin_addr *addr)
{
    na_class->ops.addr_dup(na_class->plugin_class, addr);
}

static inline void
na_addr_free(const struct na_class *na_class, na_plugin_addr *addr)
{
    na_class->ops.addr_free(na_class->plugin_class, addr);
}

static inline void
na_addr_forget(const struct na_class *na_class, na_plugin_addr *addr)
{
    na_class->ops.addr_forget(na_class->plugin_class, addr);
}

/* buf_free. */
static inline void
na_buf_free(const struct na_class *na_class, void *buffer, void *buffer_data)
{
    na_class->ops.buf_free(na_class->plugin_class, buffer, buffer_data);
}

/* mem_deregister and mem_remote_free. */
static inline void
na_mem_deregister(const struct na_class *na_class, na_plugin_mem *mem)
{
    na_class->ops.mem_deregister(na_class->plugin_class, mem);
}

static inline void
na_mem_remote_free(const struct na_class *na_class, na_plugin_mem *mem)
{
    na_class->ops.mem_remote_free(na_class->plugin_class, mem);
}

/* buf_alloc. */
na_return_t na_buf_alloc(struct na_class *na_class, size_t size, uint32_t kinds,
    void **buffer_p, void **buffer_data_p);

/* buf_init. */
na_return_t na_buf_init(
    struct na_class *na_class, void *buffer, size_t size, uint32_t kind);

/* addr_self; gives one reference. */
na_return_t na_addr_own(struct na_class *na_class, na_plugin_addr **addr_p);

/* addr_equal; any result but 1 means not equal. */
bool na_addr_same(struct na_class *na_class, const na_plugin_addr *a,
    const na_plugin_addr *b);

/* addr_serialize, addr_to_string and mem_serialize. *size_p: as there; also set
 * with OVERFLOW. */
na_return_t na_addr_serialize(struct na_class *na_class,
    const na_plugin_addr *addr, void *buffer, uint64_t *size_p);
na_return_t na_addr_text(struct na_class *na_class, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p);
na_return_t na_mem_serialize(struct na_class *na_class,
    const na_plugin_mem *mem, void *buffer, uint64_t *size_p);

/* addr_deserialize and mem_deserialize. INVALID_ARG of the plugin becomes
 * PROTOCOL_ERROR, since the bytes are from a peer. */
na_return_t na_addr_deserialize(struct na_class *na_class, const void *form,
    uint64_t length, na_plugin_addr **addr_p);
na_return_t na_mem_deserialize(struct na_class *na_class, const void *form,
    uint64_t length, na_plugin_mem **mem_p);

/* mem_register. */
na_return_t na_mem_segments(struct na_class *na_class,
    const na_plugin_segment *segments, uint64_t count, uint32_t access,
    uint32_t mem_type, uint64_t device, na_plugin_mem **mem_p);

#endif /* NA_CALL_H */

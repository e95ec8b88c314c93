/* SPDX-License-Identifier: BSD-3-Clause */
/* A registration, this class's own or a peer's. */
#ifndef UCX_MEMORY_H
#define UCX_MEMORY_H

#include <ucp/api/ucp.h>

#include "common/memory.h"

struct na_plugin_mem {
    struct tp_mem mem; /* own: in class.mems */
    bool own;
    ucp_mem_h *handles;  /* own, registered with UCX: one for each segment */
    unsigned char *keys; /* their keys, packed: as serialized; NULL: none */
    uint32_t keys_length;
    struct tp_list rings; /* a peer's: struct ucx_keyring, of connections */
    na_plugin_segment segments[];
};

#endif /* UCX_MEMORY_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* A registration of memory: this class's own, or a peer's that was
 * deserialized. */
#ifndef SM_REGISTRATION_H
#define SM_REGISTRATION_H

#include "common/memory.h"

#define SM_SEGMENTS 1024U /* of a registration */

struct na_plugin_mem {
    struct tp_mem mem; /* own: in class.mems, or class.mem_spare */
    uint32_t room;     /* for segments */
    uint32_t slot;     /* in the owner's registry; 0: none */
    struct sm_shared
        *within;            /* own: the shared segment that all of it is in, or
                               NULL */
    uint64_t shared;        /* id of the shared segment that this registration
                               is as a whole, so that it can be mapped; 0: none */
    uint64_t shared_base;   /* its address at the owner, */
    uint64_t shared_length; /* and bytes */
    na_plugin_segment segments[];
};

#endif /* SM_REGISTRATION_H */

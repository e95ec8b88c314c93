/* SPDX-License-Identifier: BSD-3-Clause */
/* A registration of memory: this class's own, or a peer's that was
 * deserialized. */
#ifndef SM_REGISTRATION_H
#define SM_REGISTRATION_H

#include <stdint.h>

#include "na_plugin.h"

#define SM_SEGMENTS 1024U /* of a registration */

/* A registration of this class, or a peer's that came as bytes. */
struct na_plugin_mem {
    na_plugin_mem *next; /* in the class's table, or among the spare ones */
    uint64_t owner;      /* number of the class that registered it */
    uint64_t id;         /* its key there: random, never 0 */
    uint64_t length;     /* of all segments */
    uint32_t access;     /* NA_PLUGIN_MEM_READ, _WRITE */
    uint32_t count;
    uint32_t room; /* for segments */
    uint32_t slot; /* in the owner's registry; 0: none */
    struct sm_shared
        *within;            /* own: the one that all segments lie in, or NULL */
    uint64_t shared;        /* one that is this registration as a whole, and
                               can be mapped for it; 0: there is none */
    uint64_t shared_base;   /* its address at the owner, */
    uint64_t shared_length; /* and bytes */
    na_plugin_segment segments[];
};

#endif /* SM_REGISTRATION_H */

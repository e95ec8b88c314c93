/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of which one side is more than a message holds, for programs in which
 * something of that goes wrong. */
#ifndef LARGE_H
#define LARGE_H

#include "rpcs.h"

#define LARGE 300000U

enum large {
    LARGE_MAKE, /* nothing in, bytes out; rpcs_on_responded counts when that
                   ended */
    LARGE_ECHO, /* as RPC_ECHO, whose answer may fail */
    LARGE_COUNT
};

/* At RPCS_USER_OFFSET of session_user(); LARGE_USER_OFFSET is the case's own. */
struct large_shared {
    _Atomic uint32_t size; /* of what LARGE_MAKE makes; 0: LARGE */
    _Atomic uint32_t made; /* how often HG_Respond took that */
};
#define LARGE_USER_OFFSET (RPCS_USER_OFFSET + 64U)
struct large_shared *large_shared(void);

/* Registers them, and those of rpcs_open; their ids. */
void large_open(hg_class_t *hg_class);
hg_id_t large_id(enum large large);

/* The handler of LARGE_MAKE, for one that does more. */
hg_return_t large_make(hg_handle_t handle);

/* Whether what is large is fetched through the transport in a mode: to oneself
 * it is not. */
bool large_fetches(int mode);

#endif /* LARGE_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* RPCs whose input or output exceeds a message, for cases that make the
 * transfer of such a payload fail. */
#ifndef LARGE_H
#define LARGE_H

#include "rpcs.h"

#define LARGE 300000U

enum large {
    /* no input, output of `size` bytes; rpcs_on_responded counts its
     * callback */
    LARGE_MAKE,
    LARGE_ECHO, /* like RPC_ECHO, but responding may fail */
    LARGE_COUNT
};

/* Stored at RPCS_USER_OFFSET of session_user(). From LARGE_USER_OFFSET on, the
 * case may use the area. */
struct large_shared {
    /* output size of LARGE_MAKE in bytes; 0 means LARGE */
    _Atomic uint32_t size;
    _Atomic uint32_t made; /* successful HG_Respond calls of LARGE_MAKE */
};
#define LARGE_USER_OFFSET (RPCS_USER_OFFSET + 64U)
struct large_shared *large_shared(void);

/* Registers these RPCs and those of rpcs_open, and stores their ids. */
void large_open(hg_class_t *hg_class);
hg_id_t large_id(enum large large);

/* The handler of LARGE_MAKE, for handlers that extend it. */
hg_return_t large_make(hg_handle_t handle);

/* Whether a large payload is fetched through the transport in this mode. Calls
 * to self copy it instead. */
bool large_fetches(int mode);

#endif /* LARGE_H */

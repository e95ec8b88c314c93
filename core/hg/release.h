/* SPDX-License-Identifier: BSD-3-Clause */
/* Releasing what a call has left in its handle. */
#ifndef HG_RELEASE_H
#define HG_RELEASE_H

#include "hg/extra.h"
#include "hg/handle.h"
#include "hg/stage.h"

/* Frees what the last call has left in a handle of this role. The peer of a target
 * has no name: it comes from a message. */
static inline __attribute__((always_inline)) void
hg_handle_clear(struct hg_handle *handle, const enum hg_role role)
{
    if (__builtin_expect(handle->special & HG_SPECIAL_EXTRA, 0))
        hg_extra_clear(handle);
    na_peer_release_some(&handle->peer, role == HG_ROLE_ORIGIN);
    if (__builtin_expect(
            hg_call_word(&handle->call) & (HG_CALL_TIMER | HG_CALL_OBSERVED),
            0))
        hg_stage_released(handle);
}

/* Frees the handles of a context. No thread may be using them. Calls that a
 * dead context never completed may have left data in them. */
void hg_pool_finish(struct hg_context *context);

#endif /* HG_RELEASE_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Freeing the handles of a context. */
#include "hg/release.h"

void
hg_pool_finish(struct hg_context *context)
{
    struct hg_handle *handle;

    while ((handle = LIST_FIRST(&context->handles)) != NULL) {
        LIST_REMOVE(handle, all_next);
        hg_extra_clear(handle);
        hg_handle_destroy(handle);
    }
}

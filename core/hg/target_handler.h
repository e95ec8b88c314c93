/* SPDX-License-Identifier: BSD-3-Clause */
/* Running the handler of a request. */
#ifndef HG_TARGET_HANDLER_H
#define HG_TARGET_HANDLER_H

#include "hg/handle.h"

/* Runs the handler, which owns the user's reference. */
void hg_target_handler_run(struct base_completion *completion);

/* Queues the handler of a request that was taken. */
static inline __attribute__((always_inline)) void
hg_target_queue_handler(struct hg_handle *handle)
{
    handle->completion.run = hg_target_handler_run;
    base_completion_push(
        &handle->completion, &handle->context->bulk.completions);
}

#endif /* HG_TARGET_HANDLER_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* "na.wait/1": a context's descriptor, and waking a context that sleeps on it. */
#ifndef UCX_WAIT_H
#define UCX_WAIT_H

#include "class.h"

/* Makes the descriptors of a context; closes them. [lock] */
int32_t ucx_wait_init(na_plugin_ctx *ctx);
void ucx_wait_fini(na_plugin_ctx *ctx);

/* A poll of this context begins. [lock] */
void ucx_wait_disarm(na_plugin_ctx *ctx);

/* Something was given to UCX, or has been read from its descriptors, while
 * contexts sleep: one of them has to look. [lock] */
void ucx_wait_wake(na_plugin_class *cls);

static inline void
ucx_wait_settle(na_plugin_class *cls)
{
    if (__builtin_expect(cls->armed != 0 && cls->wake_due, 0))
        ucx_wait_wake(cls);
}

extern const na_plugin_wait ucx_wait;

#endif /* UCX_WAIT_H */

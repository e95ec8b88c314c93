/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages to oneself: copied, and never shown to UCX. */
#ifndef UCX_SELF_H
#define UCX_SELF_H

#include "ucx.h"

/* Sends to a context of this class. [lock] */
int32_t ucx_self_send(na_plugin_ctx *ctx, struct ucx_op *op, const void *buffer,
    uint32_t length, uint32_t to, uint32_t tag, bool unexpected);

/* Some queue has more room: sends that wait for it. [lock] */
void ucx_self_refill(na_plugin_class *cls);

#endif /* UCX_SELF_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* The first message of either side: who it is, and by which token it wants to be
 * reached. */
#ifndef UCX_HELLO_H
#define UCX_HELLO_H

#include "conn.h"

/* A hello has come: reply_ep is its endpoint if UCX says. [lock] */
void ucx_hello_take(na_plugin_class *cls, const struct ucx_head *head,
    ucp_ep_h reply_ep, const void *data, size_t length);

#endif /* UCX_HELLO_H */

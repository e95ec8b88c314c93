/* SPDX-License-Identifier: BSD-3-Clause */
/* The first message of either side: who it is, and by which token it wants to be
 * reached. */
#ifndef UCX_HELLO_H
#define UCX_HELLO_H

#include "ucx.h"

/* Says hello, or with a status other than OK a refusal. NOMEM. [lock] */
int32_t ucx_hello_send(struct ucx_conn *conn, int32_t status);

/* A hello has come: reply_ep is its endpoint if UCX says. [lock] */
void ucx_hello_take(na_plugin_class *cls, const struct ucx_head *head,
    ucp_ep_h reply_ep, const void *data, size_t length);

#endif /* UCX_HELLO_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* What UCX brings: the one active message. */
#ifndef UCX_RECEIVE_H
#define UCX_RECEIVE_H

#include "class.h"

/* UCX's callback; arg: the class. [lock] */
ucs_status_t ucx_receive(void *arg, const void *front, size_t front_length,
    void *data, size_t length, const ucp_am_recv_param_t *param);

#endif /* UCX_RECEIVE_H */

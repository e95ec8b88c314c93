/* SPDX-License-Identifier: BSD-3-Clause */
/* Telling a caller that it is refused, and hearing the same. */
#ifndef SM_REFUSAL_H
#define SM_REFUSAL_H

#include "class.h"
#include "socket.h"

/* Logs that a peer has refused this class. */
void sm_refusal_log(const na_plugin_class *cls, const char *name);

/* Whether a peer that has hung up, maybe before our hello, has refused us. */
bool sm_refusal_received(int fd);

/* Tells a caller that it is refused, counts, and logs why. */
void sm_refusal_send(na_plugin_class *cls, int fd,
    const struct sm_process *process, const char *why);

#endif /* SM_REFUSAL_H */

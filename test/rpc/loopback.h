/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to self without the transport: what the programs of these share. */
#ifndef LOOPBACK_H
#define LOOPBACK_H

#include "rpcs.h"

/* All RPCs, loopback on; the second with two contexts. */
extern const struct session_setup loopback_setup;
extern const struct session_setup loopback_two_contexts;

/* session_setup.init: turns loopback on in every mode. */
void loopback_on(struct hg_init_info *info);

/* Whether origin and target are one class in this mode. */
bool loopback_is_self(int mode);

/* Requests submitted to the transport, as far as that can be counted. */
uint32_t loopback_sent(void);

#endif /* LOOPBACK_H */

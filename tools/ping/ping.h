/* SPDX-License-Identifier: BSD-3-Clause */
/* The RPC that `talaria ping` calls, for servers to offer. */
#ifndef PING_H
#define PING_H

#include <mercury.h>

/* It has neither input nor output. */
#define PING_RPC "talaria.ping"

/* Registers the handler of the RPC. Returns 0, or -1: out of memory. */
int ping_register(hg_class_t *hg_class);

#endif /* PING_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* The RPC that `talaria ping` calls, for servers to offer. */
#ifndef PING_H
#define PING_H

#include <mercury.h>

/* Has neither input nor output. */
#define PING_RPC "talaria.ping"

/* Lets a class answer it. Returns 0, or -1: no memory. */
int ping_register(hg_class_t *hg_class);

#endif /* PING_H */

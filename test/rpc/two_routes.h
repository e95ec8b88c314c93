/* SPDX-License-Identifier: BSD-3-Clause */
/* An origin and a target with two transports each, na+sm being the second, and
 * an RPC that counts by which of them it arrived. */
#ifndef TWO_ROUTES_H
#define TWO_ROUTES_H

#include "rpcs.h"

/* RPCs beside those of rpcs.h, void in and out: one that counts below, and one
 * whose handler calls the origin's RPC_EMPTY before it responds. */
hg_id_t routes_count_id(void);
hg_id_t routes_call_back_id(void);

/* At the beginning of session_user(), instead of struct rpcs_shared. */
struct routes_seen {
    struct rpcs_shared rpcs;
    _Atomic uint32_t local;   /* requests received by na+sm */
    _Atomic uint32_t network; /* by the other transport */
};
struct routes_seen *routes_seen(void);

/* For session_setup: registers all RPCs, auto_sm at both sides. */
void routes_open(hg_class_t *hg_class);
void routes_init(struct hg_init_info *info);
extern const struct session_setup routes_setup;

/* session_begin, for init functions that need to know at which side they
 * run. */
void routes_begin(
    struct session *s, int mode, const struct session_setup *setup);
bool routes_at_origin(void);

bool routes_is_self(int mode);

/* Requests submitted to the other transport, where that can be counted. */
uint32_t routes_sent_network(void);

/* Calls the target count times and checks that all calls take this route. */
void routes_ck(struct session *s, uint32_t local, uint32_t network);

/* Changes a peer's string as if it were on another host. */
void routes_change_host(char *address);

hg_addr_t routes_look_up(struct session *s, const char *address);

/* Looks up the target by the other transport; the caller frees it. */
hg_addr_t routes_network_addr(struct session *s);

#endif /* TWO_ROUTES_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* An origin and a target of two transports each, na+sm being the second, and an
 * RPC that tells by which one it came. */
#ifndef TWO_WAYS_H
#define TWO_WAYS_H

#include "rpcs.h"

/* RPCs beside those of rpcs.h, void in and out: one that is counted below; one
 * whose handler calls the origin's RPC_EMPTY before it answers. */
hg_id_t ways_who(void);
hg_id_t ways_back(void);

/* At the beginning of session_user(), instead of struct rpcs_shared. */
struct ways_seen {
    struct rpcs_shared rpcs;
    _Atomic uint32_t near; /* requests that came by na+sm */
    _Atomic uint32_t far;  /* by the other transport */
};
struct ways_seen *ways_seen(void);

/* For session_setup: registers them all; auto_sm at both sides. */
void ways_open(hg_class_t *hg_class);
void ways_init(struct hg_init_info *info);
extern const struct session_setup ways_setup;

/* session_begin, which runs init functions that may ask where they are. */
void ways_begin(struct session *s, int mode, const struct session_setup *setup);
bool ways_at_origin(void);

bool ways_self(int mode);

/* Requests that the other transport was given, where that can be told. */
uint32_t ways_sent_far(void);

/* Calls the target: so many times, all by this way. */
void ways_ck(struct session *s, uint32_t near, uint32_t far);

/* Changes the string of a peer as if it were on another host. */
void ways_move(char *address);

hg_addr_t ways_look_up(struct session *s, const char *address);

/* The target by the other transport; to be freed. */
hg_addr_t ways_far(struct session *s);

#endif /* TWO_WAYS_H */

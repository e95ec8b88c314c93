/* SPDX-License-Identifier: BSD-3-Clause */
/* Which producers have to look for sleeping contexts of this class:
 * sm_ring_watched says how. */
#ifndef SM_SLEEPERS_H
#define SM_SLEEPERS_H

#include "conn.h"

/* Registers the process for membarriers of others; whether it worked. */
bool sm_sleepers_register(void);

/* Tells all producers to look for sleepers, unless they do. Rings are to be looked
 * at afterwards. [progress] */
void sm_sleepers_watch(na_plugin_class *cls);

/* Tells a new connection's peer, if the others were told, and which contexts
 * sleep. Its ring is to be looked at afterwards. [progress] */
void sm_sleepers_tell(na_plugin_class *cls, struct sm_conn *conn);

/* A wake-up was read from a connection's socket: contexts that it was meant for,
 * and that still sleep, are woken otherwise. [progress] */
void sm_sleepers_pass_on(na_plugin_class *cls, const struct sm_conn *conn);

/* Now and then: producers need not look for sleepers when no context has slept for
 * a while. [progress] */
void sm_sleepers_look(na_plugin_class *cls, uint64_t now);

#endif /* SM_SLEEPERS_H */

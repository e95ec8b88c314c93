/* SPDX-License-Identifier: BSD-3-Clause */
/* Large puts and gets that the owner of the memory helps with: the owner's end. */
#ifndef SM_ASSIST_OWNER_H
#define SM_ASSIST_OWNER_H

#include "conn.h"

/* A peer asks to copy a range: put or get, number, registration, place in that, and at the
 * peer. NULL, or what is wrong with it. [progress] */
const char *sm_assist_take(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_range_task *task);

/* Copies a piece for a peer, if there is one. [no lock] */
void sm_assist_advance(na_plugin_class *cls);

/* Whether there is one. [progress] */
bool sm_assist_pending(const na_plugin_class *cls);

/* The connection ends. [progress] */
void sm_assist_drop(na_plugin_class *cls, struct sm_conn *conn);

#endif /* SM_ASSIST_OWNER_H */

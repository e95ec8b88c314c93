/* SPDX-License-Identifier: BSD-3-Clause */
/* What comes over a connection's socket. Every function wants progress. */
#ifndef SM_PACKET_H
#define SM_PACKET_H

#include "conn.h"

struct sm_batch;

/* Reads from a connection's socket; false when the peer has hung up. */
bool sm_packet_read(
    na_plugin_class *cls, struct sm_conn *conn, struct sm_batch *batch);

/* The peer has hung up or died: what it left in the ring is delivered to batch
 * first, also if its hello is still to be read. */
void sm_packet_lose(
    na_plugin_class *cls, struct sm_conn *conn, struct sm_batch *batch);

/* Takes the wake-up that a peer has sent, or is about to send, so that it does
 * not disturb the next sleep. */
void sm_packet_take_wakeup(na_plugin_class *cls, struct sm_conn *conn);

#endif /* SM_PACKET_H */

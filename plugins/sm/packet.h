/* SPDX-License-Identifier: BSD-3-Clause */
/* What comes over a connection's socket. Every function wants progress. */
#ifndef SM_PACKET_H
#define SM_PACKET_H

#include "conn.h"

/* Reads from a connection's socket; false when the peer has hung up. */
bool sm_packet_read(na_plugin_class *cls, struct sm_conn *conn);

/* The peer has hung up or died: reports it, and reads its hello if that is still
 * to be read. */
void sm_packet_lose(na_plugin_class *cls, struct sm_conn *conn);

/* Takes the wake-up that a peer has sent, or is about to send, so that it does
 * not disturb the next sleep. */
void sm_packet_take_wakeup(na_plugin_class *cls, struct sm_conn *conn);

#endif /* SM_PACKET_H */

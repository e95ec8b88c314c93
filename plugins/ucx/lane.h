/* SPDX-License-Identifier: BSD-3-Clause */
/* By which transports an endpoint goes, as UCX says. */
#ifndef UCX_LANE_H
#define UCX_LANE_H

#include "conn.h"

/* Looks once at a connection that is up: sets rma_known and rma_native, and
 * says in the log by what it goes. [lock] */
void ucx_lane_look(struct ucx_conn *conn);

#endif /* UCX_LANE_H */

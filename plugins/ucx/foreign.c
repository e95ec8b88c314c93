/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers of other libraries and programs. UCX carries their connections too, and
 * what it can't make of them ends as the loss of the connection. */
#include <inttypes.h>

#include "conn.h"
#include "foreign.h"

/* Whoever calls can cause it: said of the first, second, fourth, … */
static void
say_caller(struct ucx_conn *conn, const char *why)
{
    uint64_t count = conn->cls->unsaid++;

    if ((count & (count + 1)) == 0)
        UCX_LOG(conn->cls->host, WARNING,
            "%s called and did not say who it is, number %" PRIu64 " of its "
            "kind (%s): it has ended, or does not speak Talaria's protocol (it "
            "may use Mercury, or another library)",
            conn->peer_name, count + 1, why);
}

void
ucx_foreign_say(struct ucx_conn *conn, const char *why)
{
    if (conn->state == UCX_CONN_UP)
        UCX_LOG(conn->cls->host, INFO, "connection with %s: %s",
            conn->peer_name, why);
    else if (!conn->ours)
        say_caller(conn, why);
    else /* mostly it has just ended: no error of this side */
        UCX_LOG(conn->cls->host, INFO,
            "ucx+%s: somebody listens there, and does not say who it is (%s): "
            "it has ended, or is stopped or busy, or does not speak Talaria's "
            "protocol (it may use Mercury, or another transport)",
            conn->peer_name, why);
}

void
ucx_foreign_say_nobody(const struct ucx_conn *conn, const char *why)
{
    UCX_LOG(conn->cls->host, INFO, "ucx+%s: nobody listens there (%s)",
        conn->peer_name, why);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking for hosts that do not answer. UCX does not tell which sockets are those
 * of an endpoint; so the kernel is asked about all of UCX's. A peer that is
 * stopped is not silent: its host acknowledges, also when its buffers are full. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "common/system.h"
#include "descriptor.h"
#include "silence.h"

#define RESENT 3U      /* times that a segment was, as one may be lost */
#define PROBE_MS 2000U /* that a keepalive probe may take */

struct look {
    uint64_t limit_ms;
    bool ended; /* a socket at least was shut down */
};

static void
end_silent(int fd, void *arg)
{
    struct look *look = arg;
    struct tcp_info info = {.tcpi_state = 0};
    socklen_t length = sizeof(info);

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
        info.tcpi_state != TCP_ESTABLISHED ||
        info.tcpi_last_ack_recv < look->limit_ms)
        return;
    if ((info.tcpi_unacked > 0 && info.tcpi_retransmits >= RESENT) ||
        (info.tcpi_probes > 0 &&
            info.tcpi_last_ack_recv >= look->limit_ms + PROBE_MS))
        look->ended = shutdown(fd, SHUT_RDWR) == 0 || look->ended;
}

void
ucx_silence_look(na_plugin_class *cls)
{
    struct look look = {.limit_ms = cls->host_ns / TP_MS};
    bool silent = false;

    cls->look_ns = cls->now_ns + UCX_LOOK_NS;
    for (struct tp_link *link = cls->conns.head; link != NULL;
         link = link->next) {
        struct ucx_conn *conn = ucx_conn_of(link);

        if (conn->unheard == 0 || conn->state != UCX_CONN_UP)
            continue;
        if (conn->unheard < UINT8_MAX)
            conn->unheard++;
        silent = silent || ucx_conn_is_silent(conn);
    }
    if (silent)
        ucx_descriptor_each(end_silent, &look);
    if (look.ended)
        cls->cut_ns = cls->now_ns;
}

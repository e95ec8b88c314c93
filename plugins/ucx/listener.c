/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX's listener.
 *
 * UCX's own thread accepts callers, reads the first message of each, and reports
 * it to the listener. ucp_listener_destroy forgets those that have not sent theirs
 * yet (UCX 1.13.1 to 1.23): a message that arrives afterwards is reported to freed
 * memory, and its handler may stay registered when the worker is gone. So the
 * listener is destroyed when there is no such caller, and there can't be another:
 * the packets of new ones are dropped, by a filter at the socket or by the hops
 * that they may still make, and a connection of our own, whose packets pass, shows
 * that UCX's thread has accepted all before it. */
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "connect.h"
#include "descriptor.h"
#include "listener.h"
#include "progress.h"
#include "turn.h"

#define CALLERS_NS TP_SECOND /* for UCX to give up callers */
#define HOPS_MOST 255        /* of a packet, at its start */

/* What the system says against listening there; 0: nothing. */
static int
bind_error(const struct tp_place *where)
{
    int fd = socket(where->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = 0;

    if (fd < 0 ||
        bind(fd, (const struct sockaddr *) &where->address, where->length) != 0)
        error = errno;
    if (fd >= 0)
        close(fd);
    return error;
}

/* Says why there is no listener; the code for that. */
static int32_t
explain_listen(
    na_plugin_class *cls, const struct tp_place *where, ucs_status_t status)
{
    char text[UCX_NAME_MAX + 1] = "?";
    int error = status == UCS_ERR_BUSY ? EADDRINUSE : bind_error(where);

    tp_host_text(&where->address, text, sizeof(text));
    TP_LOG(cls->host, ERROR, "%s: cannot listen: %s", text,
        error != 0 ? strerror(error) : ucs_status_string(status));
    switch (error) {
    case EADDRINUSE:
        return NA_PLUGIN_E_ADDRINUSE;
    case EADDRNOTAVAIL:
        return NA_PLUGIN_E_ADDRNOTAVAIL;
    case EACCES:
        return NA_PLUGIN_E_ACCESS;
    default:
        return status == UCS_ERR_INVALID_ADDR || status == UCS_ERR_UNREACHABLE
                   ? NA_PLUGIN_E_ADDRNOTAVAIL
                   : ucx_conn_code(status);
    }
}

int32_t
ucx_listener_open(na_plugin_class *cls, struct tp_place *where_p)
{
    ucp_listener_params_t params = {
        .field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR |
                      UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
        .sockaddr = {.addr = (struct sockaddr *) &where_p->address,
            .addrlen = where_p->length},
        .conn_handler = {.cb = ucx_connect_on_request, .arg = cls}};
    ucp_listener_attr_t attr = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};

    ucx_turn_take();
    ucs_status_t status =
        ucp_listener_create(cls->worker, &params, &cls->listener);
    ucx_turn_drop();
    if (status == UCS_OK)
        status = ucp_listener_query(cls->listener, &attr);
    if (status == UCS_OK) {
        where_p->address = attr.sockaddr;
        ucx_descriptor_own_port(tp_host_port(&where_p->address));
        ucx_descriptor_mark_sockets();
        return NA_PLUGIN_OK;
    }
    return explain_listen(cls, where_p, status);
}

/* Sockets of a listener. */
struct sockets {
    struct sockaddr_storage at; /* where it listens */
    int fd;                     /* of the listening socket; -1: not found */
    uint32_t last_port;         /* of its last caller, ourselves; 0: none */
    bool last_accepted;         /* UCX has accepted that */
    bool end;                   /* callers that have not sent all are ended */
    uint32_t callers;           /* sockets that UCX has accepted, not closed */
};

/* Whether the address of one end of a socket is where a class listens. */
static bool
is_at(const struct sockaddr_storage *at, const struct sockaddr_storage *end)
{
    return end->ss_family == at->ss_family &&
           tp_host_port(end) == tp_host_port(at) &&
           (tp_host_is_any(at) || tp_host_equal(end, at));
}

/* Sets how many hops a packet to a socket must still be able to make, at least.
 * False: the system does not know that. */
static bool
limit_hops(int fd, int hops)
{
    bool limited =
        setsockopt(fd, IPPROTO_IP, IP_MINTTL, &hops, sizeof(hops)) == 0;

    return setsockopt(
               fd, IPPROTO_IPV6, IPV6_MINHOPCOUNT, &hops, sizeof(hops)) == 0 ||
           limited;
}

/* Notes a socket that is the listening one, or was accepted from it. */
static void
note_socket(int fd, void *arg)
{
    struct sockets *sockets = arg;
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof(address);
    int listens = 0;
    socklen_t size = sizeof(listens);

    if (getsockname(fd, (struct sockaddr *) &address, &length) != 0 ||
        (address.ss_family != AF_INET && address.ss_family != AF_INET6) ||
        !is_at(&sockets->at, &address) ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0)
        return;
    if (listens != 0) {
        sockets->fd = fd;
        return;
    }
    sockets->callers++;
    length = sizeof(address);
    if (sockets->last_port != 0 &&
        getpeername(fd, (struct sockaddr *) &address, &length) == 0 &&
        tp_host_port(&address) == sockets->last_port) {
        sockets->last_accepted = true;
        limit_hops(
            fd, 0); /* inherited; the kernel's answer to its end has 64 */
    }
    if (sockets->end)
        shutdown(fd, SHUT_RD); /* UCX reads what there is, and then the end */
}

/* Finds the listener's sockets among the descriptors of the process. False: it
 * has none of TCP. */
static bool
find_sockets(const na_plugin_class *cls, struct sockets *sockets)
{
    ucp_listener_attr_t attr = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};

    if (cls->listener == NULL ||
        ucp_listener_query(cls->listener, &attr) != UCS_OK)
        return false;
    sockets->at = attr.sockaddr;
    sockets->fd = -1;
    sockets->callers = 0;
    tp_descriptors_each(note_socket, sockets);
    return sockets->fd >= 0;
}

/* Drops packets to the listening socket but those of our own socket fd, whose port
 * is last_port. Connections that it has accepted are not concerned. False: the
 * system permits neither way. */
static bool
drop_others(const struct sockets *sockets, int fd)
{
    /* a packet's first two bytes: the port that it is from */
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, sockets->last_port, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = {
        .len = sizeof(code) / sizeof(code[0]), .filter = code};
    const int hops = HOPS_MOST;

    if (setsockopt(sockets->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
            sizeof(program)) == 0)
        return true;
    /* Some systems permit filters to root only. Most others send with 64 or 128
     * hops. A handshake that has begun can still end; later packets of that
     * caller are dropped. */
    setsockopt(fd, IPPROTO_IP, IP_TTL, &hops, sizeof(hops));
    setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &hops, sizeof(hops));
    return limit_hops(sockets->fd, HOPS_MOST);
}

/* Connects a socket to the listener, whose packets pass. False: it can't be done. */
static bool
call_last(const na_plugin_class *cls, struct sockets *sockets, int fd)
{
    struct sockaddr_storage own = {.ss_family = sockets->at.ss_family};
    socklen_t length = own.ss_family == AF_INET ? sizeof(struct sockaddr_in)
                                                : sizeof(struct sockaddr_in6);

    if (bind(fd, (const struct sockaddr *) &own, length) != 0 ||
        getsockname(fd, (struct sockaddr *) &own, &length) != 0)
        return false;
    sockets->last_port = tp_host_port(&own);
    if (!drop_others(sockets, fd))
        TP_LOG(cls->host, WARNING,
            "cannot keep callers away while a listener closes: %s",
            strerror(errno));
    return connect(fd, (const struct sockaddr *) &sockets->at, length) == 0 ||
           errno == EINPROGRESS;
}

void
ucx_listener_refuse(const na_plugin_class *cls)
{
    uint64_t begun_ns = tp_now();
    struct sockets sockets = {.last_port = 0};

    if (!find_sockets(cls, &sockets))
        return;
    int fd = socket(
        sockets.at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    bool called = call_last(cls, &sockets, fd);
    while (
        called && !sockets.last_accepted && tp_now() - begun_ns < CALLERS_NS) {
        sched_yield();
        find_sockets(cls, &sockets);
    }
    close(fd);
}

void
ucx_listener_close(na_plugin_class *cls)
{
    uint64_t begun_ns = tp_now();
    struct sockets sockets = {.end = true};

    if (cls->listener == NULL)
        return;
    while (find_sockets(cls, &sockets) && sockets.callers != 0 &&
           tp_now() - begun_ns < CALLERS_NS) {
        ucx_turn_want(cls);
        ucx_progress_once(cls);
        sched_yield();
    }
    ucp_listener_destroy(cls->listener);
    cls->listener = NULL;
}

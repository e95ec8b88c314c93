/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections by their token, and what they report. One that ends before its
 * hello may be of another library, whose connections UCX carries too: the log
 * says so. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/host.h"
#include "common/system.h"
#include "conn.h"
#include "descriptor.h"

#define LOOKS_MOST (UINT8_MAX - 1U) /* for silence, that are counted */
#define TRY_MS 20 /* that a busy kernel gets to answer for its own address */

int32_t
ucx_conn_code(ucs_status_t status)
{
    switch (status) {
    case UCS_OK:
        return NA_PLUGIN_OK;
    case UCS_ERR_NO_MEMORY:
        return NA_PLUGIN_E_NOMEM;
    case UCS_ERR_MESSAGE_TRUNCATED:
    case UCS_ERR_EXCEEDS_LIMIT:
        return NA_PLUGIN_E_MSGSIZE;
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_REJECTED:
    case UCS_ERR_NOT_CONNECTED:
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_TIMED_OUT:
    case UCS_ERR_CANCELED:
        return NA_PLUGIN_E_HOSTUNREACH;
    default:
        return NA_PLUGIN_E_IO_ERROR;
    }
}

void
ucx_conn_forget_token(struct ucx_conn *conn)
{
    tp_table_remove(&conn->cls->tokens, &conn->token);
}

struct ucx_conn *
ucx_conn_find(const na_plugin_class *cls, uint64_t token)
{
    struct tp_keyed *keyed = tp_table_find(&cls->tokens, NULL, token);

    return keyed != NULL ? TP_OBJECT(keyed, struct ucx_conn, token) : NULL;
}

struct ucx_conn *
ucx_conn_find_called(const na_plugin_class *cls, ucp_ep_h ep)
{
    for (struct tp_link *link = cls->conns.tail; link != NULL && ep != NULL;
         link = link->prev) {
        struct ucx_conn *conn = ucx_conn_of(link);
        if (conn->ep == ep && conn->state == UCX_CONN_CALLED)
            return conn;
    }
    return NULL;
}

struct ucx_conn *
ucx_conn_new(na_plugin_class *cls, enum ucx_conn_state state, const char *name)
{
    struct ucx_conn *conn = calloc(1, sizeof(*conn));
    if (conn == NULL)
        return NULL;
    conn->cls = cls;
    conn->state = (uint8_t) state;
    snprintf(conn->peer_name, sizeof(conn->peer_name), "%s", name);
    do {
        if (!tp_random_draw(&cls->random, &conn->token.key)) {
            free(conn);
            return NULL;
        }
    } while (ucx_conn_find(cls, conn->token.key) != NULL);
    tp_table_insert(&cls->tokens, &conn->token);
    tp_list_append(&cls->conns, &conn->link);
    return conn;
}

void
ucx_conn_touch(struct ucx_conn *conn)
{
    na_plugin_class *cls = conn->cls;

    if (conn->touched)
        return;
    conn->touched = true;
    tp_list_append(&cls->touched, &conn->touched_link);
    cls->wake_due = true;
}

void
ucx_conn_fail(struct ucx_conn *conn, int32_t error)
{
    na_plugin_class *cls = conn->cls;

    if (conn->failed || conn->state == UCX_CONN_CLOSED)
        return;
    conn->failed = true;
    conn->error = error;
    tp_list_append(&cls->failed, &conn->failed_link);
    cls->wake_due = true;
}

/* Any caller can cause it: logged of the first, second, fourth, … */
static void
log_caller(struct ucx_conn *conn, const char *why)
{
    uint64_t count = conn->cls->unsaid++;

    TP_LOG_THINNED(conn->cls->host, WARNING, count,
        "%s: connected without a hello, number %" PRIu64
        " of its kind (%s): it "
        "has ended, or does not speak Talaria's protocol (it may use Mercury, "
        "or another library)",
        conn->peer_name, count + 1, why);
}

bool
ucx_conn_is_silent(const struct ucx_conn *conn)
{
    uint64_t looks = conn->cls->host_ns / UCX_LOOK_NS;

    return conn->unheard > (looks < LOOKS_MOST ? looks : LOOKS_MOST);
}

/* The level of what is logged of a call that fails: an error, until the next one
 * to that address that is answered, once. */
static int32_t
level_of_call(const struct ucx_conn *conn)
{
    return conn->told ? NA_PLUGIN_LOG_INFO : NA_PLUGIN_LOG_ERROR;
}

/* Before it is up: something waits for it, and was not cancelled. */
static bool
is_wanted(const struct ucx_conn *conn)
{
    return conn->queue.head != NULL || conn->rma.head != NULL ||
           conn->rma_sent.head != NULL || conn->flying.head != NULL;
}

/* That a process has ended is no error of this side; that none was ever heard at
 * an address may be one. */
static int32_t
level_of_first_call(const struct ucx_conn *conn)
{
    return conn->first && is_wanted(conn) ? level_of_call(conn)
                                          : NA_PLUGIN_LOG_INFO;
}

/* The errno value that a connection in progress has ended with, 0 or EINPROGRESS. */
static int
await_connected(int fd)
{
    struct pollfd poller = {.fd = fd, .events = POLLOUT};
    int error = EINPROGRESS;
    socklen_t length = sizeof(error);

    if (poll(&poller, 1, TRY_MS) == 1 &&
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    return error;
}

/* What the kernel answers to a connection to an address: 0 or an errno value;
 * EINPROGRESS: it is not of this machine, and there is a route. Waits for up to
 * TRY_MS for an address of this machine, to which there always is one; a kernel
 * that is busier counts as 0. */
static int
try_address(const struct ucx_conn *conn)
{
    int error = 0;
    int fd = socket(
        conn->client.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return 0;
    if (connect(fd, (const struct sockaddr *) &conn->client,
            conn->client_length) != 0)
        error = errno;
    if (error == EINPROGRESS && tp_host_is_local(&conn->client)) {
        error = await_connected(fd);
        error = error == EINPROGRESS ? 0 : error;
    }
    close(fd);
    return error;
}

/* A connection that was refused: newer releases of UCX may report it like one
 * that is reset, and only the kernel knows. */
static bool
is_refused(const struct ucx_conn *conn, ucs_status_t status)
{
    return status == UCS_ERR_NOT_CONNECTED ||
           (status == UCS_ERR_CONNECTION_RESET && conn->ours &&
               tp_host_is_local(&conn->client) &&
               try_address(conn) == ECONNREFUSED);
}

/* UCX has one code for a host without a route and for a peer that ends while it
 * is being connected, which is no error of this side. */
static void
log_unreachable(struct ucx_conn *conn, const char *why)
{
    int error = conn->ours ? try_address(conn) : 0;

    if (error == 0 || error == ECONNREFUSED)
        TP_LOG(conn->cls->host, INFO,
            "ucx+%s: its process has ended while it was connected (%s)",
            conn->peer_name, why);
    else if (error == EINPROGRESS)
        tp_log(conn->cls->host, level_of_first_call(conn), __FILE__, __LINE__,
            "ucx+%s: no route to host, or its process has ended while it was "
            "connected (%s)",
            conn->peer_name, why);
    else
        tp_log(conn->cls->host, level_of_call(conn), __FILE__, __LINE__,
            "ucx+%s: cannot connect: %s", conn->peer_name, strerror(error));
}

static void
log_end(struct ucx_conn *conn, const char *why)
{
    const na_plugin_host *host = conn->cls->host;

    if (conn->state == UCX_CONN_UP && ucx_conn_is_silent(conn) &&
        conn->cls->cut_ns + UCX_LOOK_NS > conn->cls->now_ns)
        TP_LOG(host, ERROR,
            "%s: no answer within %" PRIu64
            " s: its host is down, or a firewall drops packets "
            "(ucx.host_timeout)",
            conn->peer_name, conn->cls->host_ns / TP_SECOND);
    else if (conn->state == UCX_CONN_UP)
        TP_LOG(host, INFO, "%s: connection lost: %s", conn->peer_name, why);
    else if (!conn->ours)
        log_caller(conn, why);
    else /* mostly it has just ended: no error of this side */
        TP_LOG(host, INFO,
            "ucx+%s: connected, but no hello arrived (%s): the peer has ended, "
            "is stopped or busy, or does not speak Talaria's protocol (it may "
            "use Mercury, or another transport)",
            conn->peer_name, why);
}

void
ucx_conn_lost(struct ucx_conn *conn, ucs_status_t status)
{
    const char *why = ucs_status_string(status);

    if (!conn->failed && conn->state == UCX_CONN_CALLING &&
        is_refused(conn, status))
        tp_log(conn->cls->host, level_of_first_call(conn), __FILE__, __LINE__,
            "ucx+%s: connection refused: no process listens at this address "
            "(%s)",
            conn->peer_name, why);
    else if (!conn->failed && conn->state == UCX_CONN_CALLING &&
             status == UCS_ERR_UNREACHABLE)
        log_unreachable(conn, why);
    else if (!conn->failed && conn->state != UCX_CONN_CLOSED)
        log_end(conn, why);
    ucx_conn_fail(conn, ucx_conn_code(status));
}

void
ucx_conn_expire(struct ucx_conn *conn)
{
    if (conn->state == UCX_CONN_CALLING)
        tp_log(conn->cls->host, level_of_call(conn), __FILE__, __LINE__,
            "ucx+%s: no answer within %" PRIu64 " s (ucx.connect_timeout): its "
            "host is down, a firewall drops packets, or the peer is stopped, "
            "busy, or does not speak Talaria's protocol",
            conn->peer_name, conn->cls->connect_ns / TP_SECOND);
    else if (conn->state != UCX_CONN_UP)
        log_end(conn, "it is silent for too long");
    ucx_conn_fail(conn, NA_PLUGIN_E_HOSTUNREACH);
}

void
ucx_conn_break(struct ucx_conn *conn, const char *why)
{
    na_plugin_class *cls = conn->cls;

    tp_count(&cls->counters.malformed, 1);
    if (conn->failed)
        return;
    TP_LOG_THINNED(cls->host, WARNING, tp_count(&cls->counters.broken, 1),
        "%s: connection ended: %s", conn->peer_name, why);
    ucx_conn_fail(conn, NA_PLUGIN_E_PROTOCOL_ERROR);
}

/* Half a window, or half of what the kept messages leave of it: else the peer
 * would be out of credits while as much as half of the window is free. */
bool
ucx_conn_credits_due(const struct ucx_conn *conn)
{
    return conn->credits > 0 &&
           conn->kept + 2 * conn->credits >= conn->cls->window;
}

void
ucx_conn_credit(struct ucx_conn *conn, uint64_t bytes)
{
    conn->credits += bytes;
    if (ucx_conn_credits_due(conn))
        ucx_conn_touch(conn);
}

void
ucx_conn_keep(struct ucx_conn *conn, uint64_t bytes)
{
    conn->kept += bytes;
    if (ucx_conn_credits_due(conn))
        ucx_conn_touch(conn);
}

void
ucx_conn_mark(na_plugin_class *cls, bool again)
{
    if (!ucx_descriptor_mark_some() || again) {
        cls->marks_due = 2;
        ucx_deadline(cls, tp_now() + UCX_EXPIRE_NS);
    }
}

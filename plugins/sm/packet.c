/* SPDX-License-Identifier: BSD-3-Clause */
/* What comes over a connection's socket: hellos, answers, wake-ups, shared
 * segments, and its end. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "common/memfd.h"
#include "establish.h"
#include "hello.h"
#include "mapping.h"
#include "packet.h"
#include "sleepers.h"
#include "socket.h"

#define DRAIN_ROUNDS 64 /* packets read at a time */

static bool
proven(const na_plugin_class *cls, const struct sm_conn *conn,
    const struct sm_hello *hello, bool answer)
{
    return sm_access_proven(
        cls, conn->process.pid, hello->owner, answer, hello->proof);
}

/* Answers the hello of a caller: its ring is read from here on, and it gets one
 * to read from. */
static void
answer(na_plugin_class *cls, struct sm_conn *conn, struct sm_hello *hello,
    const struct sm_hello_fds *fds)
{
    int ring = -1;

    if (hello->major != SM_HELLO_MAJOR) {
        sm_hello_refuse(cls, conn->fd, NA_PLUGIN_E_PROTONOSUPPORT);
        TP_LOG(cls->host, WARNING,
            "process %d: connection refused: version %u of the protocol, "
            "expected %d",
            (int) conn->process.pid, hello->major, SM_HELLO_MAJOR);
        sm_conn_down(cls, conn, NA_PLUGIN_E_PROTOCOL_ERROR);
        return;
    }

    int error = 0;
    const char *wrong = sm_hello_check(hello, &conn->process);
    if (wrong == NULL && !proven(cls, conn, hello, false)) {
        sm_hello_refuse_caller(
            cls, conn->fd, &conn->process, "it does not have this class's key");
        sm_conn_down(cls, conn, NA_PLUGIN_E_PERMISSION);
        return;
    }
    if (wrong == NULL) {
        error = sm_conn_make_ring(cls, conn, &ring);
        if (error != 0)
            wrong = tp_memfd_error(error);
    }
    if (wrong == NULL) {
        sm_conn_set_state(conn, SM_CONN_FREE);
        cls->called--;
        wrong = sm_conn_take_hello(cls, conn, hello, fds);
    }
    /* that a caller has hung up already will show */
    if (wrong == NULL) {
        error =
            sm_hello_send(cls, conn->fd, ring, &conn->process, hello->owner);
        if (error != 0 && error != EPIPE && error != ECONNRESET)
            wrong = strerror(error);
    } else {
        sm_hello_refuse(cls, conn->fd, NA_PLUGIN_E_PROTOCOL_ERROR);
    }
    if (ring >= 0)
        close(ring);
    if (wrong != NULL)
        sm_conn_break(cls, conn, wrong);
}

/* The answer to a call of ours. */
static void
take_answer(na_plugin_class *cls, struct sm_conn *conn, struct sm_hello *hello,
    const struct sm_hello_fds *fds)
{
    const char *wrong;

    if (hello->major == SM_HELLO_MAJOR &&
        hello->status == NA_PLUGIN_E_PERMISSION) {
        sm_hello_log_refusal(cls, sm_conn_name(conn));
        sm_conn_down(cls, conn, NA_PLUGIN_E_PERMISSION);
        return;
    }
    if (hello->major != SM_HELLO_MAJOR)
        wrong = "it speaks another version of the protocol";
    else if (hello->status != NA_PLUGIN_OK)
        wrong = "it has refused this class";
    else
        wrong = sm_hello_check(hello, &conn->process);
    if (wrong == NULL && !proven(cls, conn, hello, true)) {
        TP_LOG(cls->host, ERROR,
            "%s: connection ended: it does not hold the key of this class",
            sm_conn_name(conn));
        sm_conn_down(cls, conn, NA_PLUGIN_E_PERMISSION);
        return;
    }
    if (wrong == NULL)
        wrong = sm_conn_take_hello(cls, conn, hello, fds);
    if (wrong != NULL)
        sm_conn_break(cls, conn, wrong);
}

/* Reads wake-ups, all or one, and takes shared segments; false when the peer has
 * hung up. What is left stays readable. */
static bool
drain(na_plugin_class *cls, struct sm_conn *conn, bool all)
{
    const char *wrong = NULL;
    int got = 1;
    bool woken = false;

    for (int i = 0;
         i < DRAIN_ROUNDS && got > 0 && wrong == NULL && (all || !woken); i++) {
        struct sm_mapping_packet packet = {0};
        int shared = -1;
        /* a shared segment comes on request only */
        got = sm_socket_next(conn->fd, &packet, sizeof(packet), &shared,
            sm_mapping_any_wanted(conn) ? 1 : 0);
        if (got == (int) sizeof(packet))
            wrong = sm_mapping_take(cls, conn, &packet, shared);
        else if (got > 1)
            wrong = "unexpected packet";
        woken = woken || got == 1;
        if (got > 0)
            sm_socket_close_passed(&shared, 1);
    }
    if (woken) {
        conn->wakeup_due = false;
        sm_sleepers_pass_on(cls, conn);
    }
    if (wrong != NULL)
        sm_conn_break(cls, conn, wrong);
    return wrong != NULL || got >= 0;
}

void
sm_packet_take_wakeup(na_plugin_class *cls, struct sm_conn *conn)
{
    conn->wakeup_due = true;
    sm_conn_activate(cls, conn);
    /* one for each sleep: to look for another costs a system call */
    if (!drain(cls, conn, false))
        sm_kernel_due(cls);
}

bool
sm_packet_read(na_plugin_class *cls, struct sm_conn *conn)
{
    struct sm_hello hello;
    struct sm_hello_fds fds;

    if (conn->state == SM_CONN_UP) {
        sm_conn_activate(cls, conn);
        return drain(cls, conn, true);
    }

    int got = sm_hello_recv(conn->fd, &hello, &fds);
    if (got <= 0)
        return got == 0;
    if (conn->state == SM_CONN_CALLED)
        answer(cls, conn, &hello, &fds);
    else
        take_answer(cls, conn, &hello, &fds);
    sm_hello_close(&fds);
    return true;
}

void
sm_packet_lose(na_plugin_class *cls, struct sm_conn *conn)
{
    if (conn->state == SM_CONN_CALLED)
        sm_packet_read(cls, conn);
    sm_conn_lost(cls, conn);
}

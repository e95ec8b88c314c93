/* SPDX-License-Identifier: BSD-3-Clause */
/* A recursive mutex of the process. UCX closes the socket of an endpoint in a
 * callback of one of the next polls, and its callbacks open endpoints, too. */
#include <pthread.h>

#include "turn.h"

#define POLLS 16U /* until UCX has closed an endpoint: 1 or 2 in 1.13 */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t turn;

/* In a child as well: the thread that had it is not there. */
static void
make(void)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&turn, &attr);
    pthread_mutexattr_destroy(&attr);
}

static void
make_once(void)
{
    make();
    pthread_atfork(NULL, NULL, make);
}

void
ucx_turn_take(void)
{
    pthread_once(&once, make_once);
    pthread_mutex_lock(&turn);
}

void
ucx_turn_drop(void)
{
    pthread_mutex_unlock(&turn);
}

void
ucx_turn_want(na_plugin_class *cls)
{
    cls->turns = POLLS;
}

void
ucx_turn_expect(struct ucx_conn *conn)
{
    na_plugin_class *cls = conn->cls;

    ucx_turn_want(cls);
    if (conn->expected || conn->state == UCX_CONN_CLOSED)
        return;
    conn->expected = true;
    cls->expected++;
}

void
ucx_turn_end(struct ucx_conn *conn)
{
    na_plugin_class *cls = conn->cls;

    if (conn->expected)
        cls->expected--;
    conn->expected = false;
    ucx_turn_want(cls);
}

uint32_t
ucx_turn_progress(na_plugin_class *cls)
{
    if (cls->expected == 0)
        cls->turns--;
    ucx_turn_take();
    uint32_t did = ucp_worker_progress(cls->worker);
    ucx_turn_drop();
    return did;
}

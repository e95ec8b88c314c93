/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer that sees an endpoint go loses what it has not read of it. So each is
 * told, and answers when it has read all. */
#include <sched.h>

#include "close.h"
#include "listener.h"
#include "process.h"
#include "progress.h"
#include "work.h"

#define PATIENCE_NS UINT64_C(500000000) /* for a peer to read what we sent */
#define IDLE_NS UINT64_C(20000000)      /* for one that we only heard from */
#define RETURN_NS UINT64_C(1000000000)  /* for UCX to give buffers back */

/* How long a peer's answer is waited for: one in this process may not be able
 * to give one while this thread is here. */
static uint64_t
patience(const struct ucx_conn *conn)
{
    if (conn->peer->process == ucx_process_number() || !conn->unheard)
        return IDLE_NS;
    return PATIENCE_NS;
}

/* Whether some peer is still worth waiting for. */
static bool
wait_more(const na_plugin_class *cls, uint64_t waited_ns)
{
    for (struct tp_link *link = cls->conns.head; link != NULL;
         link = link->next) {
        const struct ucx_conn *conn = ucx_conn_of(link);
        if (conn->state == UCX_CONN_UP && !conn->failed &&
            waited_ns < patience(conn))
            return true;
    }
    return false;
}

static void
end_all(na_plugin_class *cls)
{
    for (struct tp_link *link = cls->conns.head; link != NULL;
         link = link->next)
        ucx_conn_fail(ucx_conn_of(link), NA_PLUGIN_E_HOSTUNREACH);
    ucx_work(cls);
}

void
ucx_close(na_plugin_class *cls)
{
    uint64_t begun = tp_now();

    for (struct tp_link *link = cls->conns.head; link != NULL;
         link = link->next) {
        struct ucx_conn *conn = ucx_conn_of(link);
        if (conn->state != UCX_CONN_UP)
            continue;
        conn->retiring = true;
        ucx_conn_touch(conn);
    }
    while (wait_more(cls, tp_now() - begun)) {
        ucx_progress_once(cls);
        sched_yield();
    }
    /* First: UCX may mistake the descriptor of a caller that is rejected for the
     * same number given to the next one. */
    ucx_listener_refuse(cls);
    cls->closing = true;
    end_all(cls);

    begun = tp_now();
    while (cls->closed.head != NULL && tp_now() - begun < RETURN_NS)
        ucx_progress_once(cls);
    ucx_listener_close(cls);
}

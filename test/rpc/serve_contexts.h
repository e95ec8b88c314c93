/* SPDX-License-Identifier: BSD-3-Clause */
/* A target with one thread per context. */
#ifndef SERVE_CONTEXTS_H
#define SERVE_CONTEXTS_H

#include "session.h"

#include <pthread.h>
#include <stdatomic.h>

struct context_server {
    hg_context_t *context;
    const _Atomic bool *stop;
    pthread_t thread;
};

static inline void *
serve_context(void *arg)
{
    struct context_server *server = arg;

    while (!atomic_load(server->stop)) {
        HG_Progress(server->context, 20);
        while (HG_Trigger(server->context, 0, 16, NULL) == HG_SUCCESS)
            ;
    }
    session_drain(server->context);
    return NULL;
}

/* Creates count - 1 contexts beside the given one and serves all, each in its
 * own thread, until the session is stopped. Reports when they exist. */
static inline void
serve_contexts(hg_context_t *context, uint32_t count, const _Atomic bool *stop,
    void (*say_ready)(void))
{
    struct context_server servers[256] = {{.context = context, .stop = stop}};

    for (uint32_t i = 1; i < count; i++) {
        servers[i].stop = stop;
        servers[i].context =
            HG_Context_create_id(HG_Context_get_class(context), (uint8_t) i);
        TARGET_ASSERT(servers[i].context);
        TARGET_ASSERT(pthread_create(&servers[i].thread, NULL, serve_context,
                          &servers[i]) == 0);
    }
    say_ready();
    serve_context(&servers[0]);
    for (uint32_t i = 1; i < count; i++) {
        TARGET_ASSERT(pthread_join(servers[i].thread, NULL) == 0);
        TARGET_ASSERT(HG_Context_destroy(servers[i].context) == HG_SUCCESS);
    }
}

#endif /* SERVE_CONTEXTS_H */

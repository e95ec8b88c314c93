/* SPDX-License-Identifier: BSD-3-Clause */
/* A client of the soak: calls of mixed sizes to servers, one of which is
 * killed, stopped and restarted. */
#ifndef SOAK_CLIENT_H
#define SOAK_CLIENT_H

#include "service.h"

struct soak_client {
    struct service *steady; /* the permanent server: each call to it succeeds */
    struct service *mortal; /* the mortal server: each call to it ends */
    uint64_t seed;
    _Atomic bool pause;
    _Atomic bool paused; /* no call is in flight */
    _Atomic bool stop;
    _Atomic uint64_t forwarded;
    _Atomic uint64_t called;
    _Atomic uint64_t failed; /* successful calls to the mortal server */
    /* generation of the mortal server that has answered */
    _Atomic uint32_t met;
};

/* Main of a client; arg is a shared struct soak_client. */
void soak_client_run(void *arg);

#endif /* SOAK_CLIENT_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* A caller of the soak: calls of mixed sizes to servers of which one is killed,
 * stopped and restarted. */
#ifndef SOAK_CLIENT_H
#define SOAK_CLIENT_H

#include "service.h"

struct soak_client {
    struct service *steady; /* stays alive: each call of it succeeds */
    struct service *mortal; /* each call of it ends */
    uint64_t seed;
    _Atomic bool pause;
    _Atomic bool paused; /* nothing is in flight */
    _Atomic bool stop;
    _Atomic uint64_t forwarded;
    _Atomic uint64_t called;
    _Atomic uint64_t failed; /* calls of the mortal one that did */
    _Atomic uint32_t met; /* the generation of the mortal that has answered */
};

/* arg is a struct soak_client that is shared. */
void soak_client_run(void *arg);

#endif /* SOAK_CLIENT_H */

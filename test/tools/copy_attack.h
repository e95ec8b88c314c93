/* SPDX-License-Identifier: BSD-3-Clause */
/* A server of `talaria copy`, and a client of it that is under the test's control:
 * the fixture of the programs of hostile clients. */
#ifndef COPY_ATTACK_H
#define COPY_ATTACK_H

#include "copy_peer.h"

struct attack {
    pid_t server;
    char address[256];
    struct peer peer; /* has said hello */
    char *chunk;      /* COPY_CHUNK_SIZE bytes, */
    hg_bulk_t bulk;   /* registered for both */
};

extern struct attack attack;

/* Of a test case. The server must exit normally at the end. */
void attack_setup(void);
void attack_teardown(void);

#endif /* COPY_ATTACK_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* A server of `talaria copy`, and a client of it that is under the test's control:
 * the fixture of the programs of hostile clients. */
#ifndef COPY_ATTACK_H
#define COPY_ATTACK_H

#include "copy_peer.h"

struct attack {
    pid_t server;
    char address[256];
    struct peer peer; /* has sent a hello */
    char *chunk;      /* COPY_CHUNK_SIZE bytes, */
    hg_bulk_t bulk;   /* registered for both */
};

extern struct attack attack;

/* Of a test case. The server must exit normally at the end. */
void attack_setup(void);
void attack_teardown(void);

/* RPCs of attack.peer that expect an answer, and return its status. */

/* Any RPC that names a path, with valid other arguments. */
unsigned int attack_path(enum copy_rpc rpc, const char *path);

/* COPY_READ, COPY_WRITE or COPY_HASH. */
unsigned int attack_move(enum copy_rpc rpc, uint64_t id, uint64_t offset,
    uint32_t size, hg_bulk_t memory);

unsigned int attack_commit(uint64_t id, copy_sum_t sum);
unsigned int attack_close(uint64_t id);

/* COPY_CREATE, which has to succeed. Returns the id of the upload. */
uint64_t attack_create(const char *path, uint64_t size);

#endif /* COPY_ATTACK_H */

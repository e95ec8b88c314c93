/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of a run: a server if it is ours, and the clients; one command
 * for all of them, and what became of it. */
#ifndef PERF_WORKERS_H
#define PERF_WORKERS_H

#include <pthread.h>

#include "perf/client.h"
#include "perf/options.h"
#include "perf/shared.h"

struct perf_workers {
    struct perf_shared *shared;
    struct perf_client *control; /* kept alive while rounds last */
    pid_t server;                /* 0: not ours */
    int address_fd;              /* where ours tells its address */
    pid_t clients[PERF_CLIENTS_MAX];
    uint32_t count;  /* of clients */
    bool in_process; /* clients[0] is 0, and thread is it */
    pthread_t thread;
    int32_t cpu; /* that it runs on, -1: any */
};

/* Forks them all, unless the client is to be a thread; to be called before the
 * library is. token: of our own server,
 * or NULL. false: the
 * failure is set. */
bool perf_workers_start(struct perf_workers *workers,
    const struct perf_options *options, const struct perf_plan *plan,
    const struct token *token);

/* The address of our own server, once it has one. false: as above. */
bool perf_workers_read_address(
    struct perf_workers *workers, char *address, size_t size);

/* Gives the clients a command and waits until it is done. false: as above. */
bool perf_workers_do(struct perf_workers *workers, enum perf_command command);

/* Processor time of all clients in ns. */
uint64_t perf_workers_cpu(const struct perf_workers *workers);

/* Ends the clients, and our own server. */
void perf_workers_end_clients(struct perf_workers *workers);
void perf_workers_end_server(struct perf_workers *workers);

#endif /* PERF_WORKERS_H */

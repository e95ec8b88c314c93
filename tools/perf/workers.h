/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of a measurement: our own server, if any, and the clients,
 * which execute commands together. */
#ifndef PERF_WORKERS_H
#define PERF_WORKERS_H

#include <pthread.h>

#include "perf/client.h"
#include "perf/options.h"
#include "perf/shared.h"

struct perf_workers {
    struct perf_shared *shared;
    struct perf_client *control; /* kept alive during rounds */
    pid_t server;                /* 0: not ours */
    int address_fd;              /* our server writes its address to it */
    pid_t clients[PERF_CLIENTS_MAX];
    uint32_t count;  /* of clients */
    bool in_process; /* the client is `thread`; clients[0] is 0 */
    pthread_t thread;
    int32_t cpu; /* of the thread, -1: any */
};

/* Starts the server and the clients: processes forked before the library is
 * used, or, in process, one client as a thread. token: of our own server, or
 * NULL. false: the failure is set. */
bool perf_workers_start(struct perf_workers *workers,
    const struct perf_options *options, const struct perf_plan *plan,
    const struct token *token);

/* Reads the address of our own server. false: the failure is set. */
bool perf_workers_read_address(
    struct perf_workers *workers, char *address, size_t size);

/* Sends the clients a command and waits until they have executed it. false: the
 * failure is set. */
bool perf_workers_do(struct perf_workers *workers, enum perf_command command);

/* Processor time of all clients in ns. */
uint64_t perf_workers_cpu(const struct perf_workers *workers);

/* Ends the clients, or our own server. */
void perf_workers_end_clients(struct perf_workers *workers);
void perf_workers_end_server(struct perf_workers *workers);

#endif /* PERF_WORKERS_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of a run: a server if it is ours, and the clients; one command
 * for all of them, and what became of it. */
#ifndef PERF_CREW_H
#define PERF_CREW_H

#include "perf/board.h"
#include "perf/client.h"
#include "perf/options.h"

struct perf_crew {
    struct perf_board *board;
    struct perf_client *control; /* kept alive while rounds last */
    pid_t server;                /* 0: not ours */
    int address_fd;              /* where ours tells its address */
    pid_t clients[PERF_CLIENTS_MAX];
    uint32_t count; /* of clients */
};

/* Forks them all; to be called before the library is. token: of our own server,
 * or NULL. false: the failure of the
 * board is set. */
bool perf_crew_start(struct perf_crew *crew, const struct perf_options *options,
    const struct perf_plan *plan, const struct token *token);

/* The address of our own server, once it has one. false: as above. */
bool perf_crew_read_address(struct perf_crew *crew, char *address, size_t size);

/* Gives the clients a command and waits until it is done. false: as above. */
bool perf_crew_do(struct perf_crew *crew, enum perf_command command);

/* Processor time of all clients in ns. */
uint64_t perf_crew_cpu(const struct perf_crew *crew);

/* Ends the clients, and our own server. */
void perf_crew_end_clients(struct perf_crew *crew);
void perf_crew_end_server(struct perf_crew *crew);

#endif /* PERF_CREW_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* The client side of the control requests, in the leading process. */
#ifndef PERF_CLIENT_H
#define PERF_CLIENT_H

#include "perf/control.h"

struct perf_client {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_id_t ids[PERF_CONTROLS];
    hg_addr_t addr;
    uint64_t session;          /* 0: none is open */
    uint64_t last_ns;          /* time of the last request */
    const struct token *token; /* shared with the server, or NULL */
    struct perf_failure *failure;
};

/* These functions block until the server answers, for 30 s at most. false: the
 * failure is set. */

/* info: of this side. token: NULL, or the server's; borrowed until the session
 * is open. *hello_p: the settings of the server. */
bool perf_client_connect(struct perf_client *client, const char *info,
    const char *address, const struct token *token,
    struct perf_failure *failure, perf_hello_out_t *hello_p);

/* Opens a session and gets address and memory key of its classes. */
bool perf_client_open(struct perf_client *client, const struct perf_plan *plan,
    struct perf_remote *remotes);

/* Also fails if the session has failed or received wrong data. */
bool perf_client_run(
    struct perf_client *client, enum perf_run what, uint64_t *cpu_ns_p);

/* Closes the session and disconnects. To be called even if connecting
 * failed. */
void perf_client_finish(struct perf_client *client);

#endif /* PERF_CLIENT_H */

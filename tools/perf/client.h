/* SPDX-License-Identifier: BSD-3-Clause */
/* The leading process's side of the control requests. */
#ifndef PERF_CLIENT_H
#define PERF_CLIENT_H

#include "perf/control.h"

struct perf_client {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_id_t ids[PERF_CONTROLS];
    hg_addr_t addr;
    uint64_t session;          /* 0: none is open */
    uint64_t last_ns;          /* when something was asked */
    const struct token *token; /* that the server has to have, or NULL */
    struct perf_failure *failure;
};

/* Each of these blocks until the server answers, or for 30 s; false: the
 * failure is set. */

/* info: of this side. token: NULL, or the server has to have the same; borrowed
 * until the session is open. Asks how the server serves. */
bool perf_client_connect(struct perf_client *client, const char *info,
    const char *address, const struct token *token,
    struct perf_failure *failure, perf_hello_out_t *hello_p);

/* Opens a session, and gets the remotes of its classes. */
bool perf_client_open(struct perf_client *client, const struct perf_plan *plan,
    struct perf_remote *remotes);

/* Also fails when the session has, or found wrong data. */
bool perf_client_run(
    struct perf_client *client, enum perf_run what, uint64_t *cpu_ns_p);

/* Closes the session, if there is one and the server still answers, and
 * disconnects. To be called even if connecting failed. */
void perf_client_finish(struct perf_client *client);

#endif /* PERF_CLIENT_H */

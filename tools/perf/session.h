/* SPDX-License-Identifier: BSD-3-Clause */
/* A server's session of one plan: the target's classes, and threads that serve
 * them while a round runs. */
#ifndef PERF_SESSION_H
#define PERF_SESSION_H

#include "perf/target.h"

struct perf_session;

/* Opens the classes of a valid plan. info: without a port. NULL: the failure is
 * set. Blocks as opening a class does. */
struct perf_session *perf_session_open(const struct perf_plan *plan,
    const char *info, struct perf_failure *failure);

/* Lets the threads serve, or pause. Blocks for ms until busy threads pause. */
void perf_session_run(struct perf_session *session, bool run);

bool perf_session_is_running(const struct perf_session *session);

/* Gets address and memory key of a class. false: no such class, or the failure
 * is set. */
bool perf_session_describe(
    struct perf_session *session, uint32_t index, struct perf_remote *remote);

/* Returns the verification errors and the failure of a session. */
const struct perf_faults *perf_session_faults(
    const struct perf_session *session);
struct perf_failure *perf_session_failure(struct perf_session *session);

/* Stops the threads and closes everything. Blocks. */
void perf_session_close(struct perf_session *session);

#endif /* PERF_SESSION_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* What a server has for one plan: the target's classes, and threads that serve
 * them while a round runs. */
#ifndef PERF_SESSION_H
#define PERF_SESSION_H

#include "perf/target.h"

struct perf_session;

/* Opens the classes of a plan that has been checked, by an info string without
 * a port. NULL: the failure is set. Blocks as opening does. */
struct perf_session *perf_session_open(const struct perf_plan *plan,
    const char *info, struct perf_failure *failure);

/* Lets its threads serve, or pause. Blocks some ms until busy ones pause. */
void perf_session_run(struct perf_session *session, bool run);

bool perf_session_is_running(const struct perf_session *session);

/* Where a class is. false: there is none, or the failure is set. */
bool perf_session_describe(
    struct perf_session *session, uint32_t index, struct perf_remote *remote);

/* Faults in what came, and why it failed, if it did. */
const struct perf_faults *perf_session_faults(
    const struct perf_session *session);
struct perf_failure *perf_session_failure(struct perf_session *session);

/* Stops its threads and closes everything. Blocks while they finish. */
void perf_session_close(struct perf_session *session);

#endif /* PERF_SESSION_H */

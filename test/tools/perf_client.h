/* SPDX-License-Identifier: BSD-3-Clause */
/* A server of `talaria perf` as a child process, and clients that send any
 * request to it, for tests of hostile clients. One server per case. */
#ifndef PERF_CLIENT_H
#define PERF_CLIENT_H

#include "copy_peer.h"
#include "perf/challenge.h"
#include "perf/control.h"

#define WAIT_SECONDS 50.0

/* A client class and its requests. */
struct client {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t addr; /* address of the server, or of a session's class */
    hg_id_t ids[PERF_CONTROLS];
    uint64_t session;
};

struct answer {
    bool came;
    hg_return_t ret;
};

extern char server_address[256];
extern struct client client; /* opened by server_start */
extern const struct perf_plan small_plan;

/* Starts a server with an option, or NULL, run by a wrapper program, or NULL.
 * Needs the folder of the case. */
void server_start(const char *wrapper, const char *option, const char *value);

/* Stops the server, which must exit normally, and removes the folder. */
void server_end(void);

/* Whether the server's stderr has a line with this text; waits for one. */
bool server_logged(const char *text);
void server_await_log(const char *text);

void client_open(struct client *caller, const char *to);
void client_close(struct client *caller);

/* Callback of a forward; arg is a struct answer. */
hg_return_t client_answered(const struct hg_cb_info *info);

/* Calls and waits; out is decoded if the call succeeds. */
hg_return_t client_call(struct client *caller, hg_id_t id, void *in, void *out);

/* Sends an open request, with the id of a challenge, or 0. */
perf_open_out_t client_open_session(struct client *caller,
    const struct perf_plan *plan, uint64_t challenge, const token_key_t *proof);

/* Requests of a session. Each returns "" or the error text of the answer. */
const char *client_try_plan(
    struct client *caller, const struct perf_plan *plan);
const char *client_place(
    struct client *caller, uint32_t index, perf_remote_out_t *out_p);
const char *client_run(struct client *caller, unsigned int what);
const char *client_close_session(struct client *caller);

#endif /* PERF_CLIENT_H */

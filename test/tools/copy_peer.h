/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer of `talaria copy` under the test's control: it uses the protocol
 * without following its rules. And the command itself, as a child process. */
#ifndef COPY_PEER_H
#define COPY_PEER_H

#include <check.h>
#include <sys/types.h>

#include "copy/proto.h"

struct peer {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_id_t ids[COPY_RPC_COUNT];
    hg_addr_t addr; /* the server's address, at a client */
    uint64_t light;
    hg_bulk_t beacon;
    uint64_t session;
};

/* Runs a suite with one folder for all cases, which is removed also when they
 * fail. Returns the exit status of the program. */
int peer_run(Suite *suite);

/* Creates the folder of a case, with "exported" in it, and removes it. */
void peer_folder_create(void);
void peer_folder_remove(void);

/* Returns the path of a file in the folder, in a static buffer shared by all
 * calls. */
const char *peer_path(const char *name);

/* Opens a class on na+sm: a client of `address`, or, with NULL, a server whose
 * RPCs `handler` handles. */
void peer_open(struct peer *peer, const char *address, hg_rpc_cb_t handler);
void peer_close(struct peer *peer);

/* Triggers everything that is due, and progresses for up to 10 ms. */
void peer_progress(struct peer *peer);

/* Calls an RPC and waits. Returns the result of the forward; *out_p is set if
 * that is HG_SUCCESS. */
hg_return_t peer_call(struct peer *peer, enum copy_rpc rpc, union copy_in *in,
    union copy_out *out_p);

/* The same, with the session filled in. Returns the status in the answer; fails
 * the test if there is no answer. */
unsigned int peer_status(struct peer *peer, enum copy_rpc rpc,
    union copy_in *in, union copy_out *out_p);

/* Sends these bytes as the input of an RPC. Returns the status. */
unsigned int peer_raw(
    struct peer *peer, enum copy_rpc rpc, const void *bytes, size_t size);

/* Sends a valid hello. out_p: NULL, or the answer. */
void peer_hello(struct peer *peer, union copy_out *out_p);

/* Starts "talaria copy ARGUMENT...", up to NULL, with stdout and stderr
 * redirected to peer_path("out") and peer_path("err"). */
pid_t peer_start(const char *argument, ...);

/* Starts "COMMAND...", up to NULL, in the same way. */
pid_t peer_start_program(char *const argv[]);

/* Starts a server on peer_path("exported"), and returns its address.
 * token_file: a name for peer_path, or NULL. */
pid_t peer_start_server(const char *token_file, char *address_p, size_t size);

/* Whether a child has ended; *status_p is its exit code, or -1. */
bool peer_ended(pid_t pid, int *status_p);

/* Monotonic time in seconds. */
double peer_clock(void);

#endif /* COPY_PEER_H */

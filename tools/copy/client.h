/* SPDX-License-Identifier: BSD-3-Clause */
/* A client's connection with one slot for each request in flight; a slot has a
 * handle and memory for one chunk. */
#ifndef COPY_CLIENT_H
#define COPY_CLIENT_H

#include "common/token.h"
#include "copy/proto.h"

struct copy_client;
struct copy_slot;

/* Called once for each request sent, when it was answered or has failed; the
 * callback gets the result from copy_slot_answer. The slot is free after it
 * returns. It may not send. */
typedef void (*copy_answered_t)(struct copy_slot *slot, void *arg);

/* At most one request in flight. */
struct copy_slot {
    struct copy_client *client;
    struct copy_slot *next_free;
    hg_handle_t handle;
    hg_bulk_t bulk; /* describes memory */
    void *memory;   /* one chunk */
    copy_answered_t answered;
    void *arg;
    enum copy_rpc rpc;
    hg_return_t ret; /* how the request ended */
    bool busy;
    uint64_t offset; /* for the sender: the chunk in memory */
    uint32_t size;
    copy_sum_t sum;
};

struct copy_client {
    const char *address;
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t addr;
    hg_id_t ids[COPY_RPC_COUNT];
    struct copy_slot *slots;
    struct copy_slot *free_slots;
    unsigned int slot_count;
    unsigned int busy; /* slots in use */
    hg_bulk_t beacon;
    uint64_t beacon_value; /* contents of the beacon */
    struct token *token;   /* shared with the server, or NULL */
    uint64_t session;      /* 0: none */
    uint32_t chunk_size;   /* bytes */
    unsigned int open_max; /* ids that the server grants at a time */
    size_t path_max;       /* bytes of a path in a request, at most */
    bool lost;             /* no request will be answered any more */
    bool interrupted;      /* lost because of a signal */
    bool closing;          /* losing the server is no error */
    bool quiet;            /* the caller prints why the server is lost */
    char reason[512];      /* why it is lost */
};

/* Connects to a server, sends hello and authenticates.
 * address: must stay valid. token_file: NULL, or the token of the server.
 * slots: requests in flight, at most.
 * access: HG_BULK_READ_ONLY or HG_BULK_WRITE_ONLY: the server's access to the
 *   memory of slots.
 * Returns the client for copy_client_close, or NULL after an error message.
 * Blocks until the server answers. */
struct copy_client *copy_client_open(const char *address,
    const char *token_file, unsigned int slots, uint8_t access);

/* Ends the session and frees everything. No request may be in flight. NULL is
 * allowed. */
void copy_client_close(struct copy_client *client);

/* Returns 0, or ENAMETOOLONG: the path doesn't fit in a request. */
int copy_client_path_check(const struct copy_client *client, const char *path);

/* Acquires a free slot, or returns NULL. */
struct copy_slot *copy_client_slot(struct copy_client *client);

/* Releases a slot that was not used for a request. */
void copy_client_slot_free(struct copy_slot *slot);

/* Sends a request. in: the input of the RPC; this function fills in session and
 * bulk. `answered` runs in copy_client_progress, or before this returns if
 * sending fails. */
void copy_slot_send(struct copy_slot *slot, enum copy_rpc rpc,
    union copy_in *in, copy_answered_t answered, void *arg);

/* In `answered`: decodes the answer. Returns its status; COPY_LOST: the server
 * is lost. */
enum copy_status copy_slot_answer(
    struct copy_slot *slot, union copy_out *out_p);

/* Waits up to `timeout` ms for answers and runs their callbacks. A signal
 * (signal.h) cancels all requests, as if the server were lost. */
void copy_client_progress(struct copy_client *client, unsigned int timeout);

/* Sends a request and waits for its answer; other callbacks may run meanwhile.
 * A slot must be free. memory_p: NULL, or set to the slot's memory, valid until
 * the next request is sent. */
enum copy_status copy_client_call(struct copy_client *client, enum copy_rpc rpc,
    union copy_in *in, union copy_out *out_p, void **memory_p);

#endif /* COPY_CLIENT_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* A client's connection, and its window: as many slots as there may be requests
 * in flight, each with a handle and, if wanted, memory for one chunk. */
#ifndef COPY_CLIENT_H
#define COPY_CLIENT_H

#include "common/token.h"
#include "copy/proto.h"

struct copy_client;
struct copy_slot;

/* Is called once for each request that was sent, when it was answered or never
 * will be; copy_slot_answer tells. The slot is free again when it returns. It
 * may not send. */
typedef void (*copy_answered_t)(struct copy_slot *slot, void *arg);

/* One request in flight, or none. */
struct copy_slot {
    struct copy_client *client;
    struct copy_slot *next_free;
    hg_handle_t handle;
    hg_bulk_t bulk; /* of memory */
    void *memory;   /* a chunk */
    copy_answered_t answered;
    void *arg;
    enum copy_rpc rpc;
    hg_return_t ret; /* how the request ended */
    bool busy;
    uint64_t offset; /* for the sender's use: which chunk is in memory */
    uint32_t size;
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
    uint64_t light;        /* what the beacon shows */
    struct token *token;   /* that the server has to have, or NULL */
    uint64_t session;      /* 0: none */
    uint32_t chunk_size;   /* bytes */
    unsigned int open_max; /* how many ids the server grants at a time */
    size_t path_max;       /* bytes that a path of a request may have */
    bool lost;             /* no request will be answered any more */
    bool interrupted;      /* and that is because of a signal */
    bool leaving;          /* it doesn't matter any more */
};

/* Connects to a server, says hello, and proves what is to be proven.
 * address: must stay valid. token_file: NULL, or the server has to have the
 * same token. slots: at most so many requests in flight.
 * access: HG_BULK_READ_ONLY, HG_BULK_WRITE_ONLY, what the server does with the
 *   memory of slots.
 * Returns the client for copy_client_close; NULL: why not is on standard error.
 * Blocks until the server answers. */
struct copy_client *copy_client_open(const char *address,
    const char *token_file, unsigned int slots, uint8_t access);

/* Ends the session if there is one, and frees everything. No request may be in
 * flight. NULL is allowed. */
void copy_client_close(struct copy_client *client);

/* Says why a path can't be sent: 0, or ENAMETOOLONG. */
int copy_client_path_check(const struct copy_client *client, const char *path);

/* Takes a free slot, or returns NULL. */
struct copy_slot *copy_client_slot(struct copy_client *client);

/* Gives a slot back that wasn't used for a request. */
void copy_client_slot_free(struct copy_slot *slot);

/* Sends a request. in: the input of the RPC; session and bulk are filled in
 * here. `answered` runs in copy_client_progress, or before the return when
 * sending fails. */
void copy_slot_send(struct copy_slot *slot, enum copy_rpc rpc,
    union copy_in *in, copy_answered_t answered, void *arg);

/* In `answered`: decodes the answer. Returns its status; COPY_LOST: there is
 * none, and there won't be any. */
enum copy_status copy_slot_answer(
    struct copy_slot *slot, union copy_out *out_p);

/* Waits up to `timeout` ms for answers, and handles those that came. A signal
 * (signal.h) ends all requests, as if the server were gone. */
void copy_client_progress(struct copy_client *client, unsigned int timeout);

/* Sends a request and waits for its answer, handling others meanwhile. A slot
 * must be free. memory_p: NULL, or set to the slot's memory, which keeps what
 * the server pushed until the next request is sent. */
enum copy_status copy_client_call(struct copy_client *client, enum copy_rpc rpc,
    union copy_in *in, union copy_out *out_p, void **memory_p);

#endif /* COPY_CLIENT_H */

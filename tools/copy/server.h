/* SPDX-License-Identifier: BSD-3-Clause */
/* A running server, as its parts share it: what it exports, who its clients are
 * and what they are doing. One thread runs all of it. */
#ifndef COPY_SERVER_H
#define COPY_SERVER_H

#include "common/token.h"
#include "copy/proto.h"

struct copy_server {
    hg_class_t *hg_class; /* its data is the server */
    hg_context_t *context;
    hg_id_t ids[COPY_RPC_COUNT];
    int root;                      /* the exported directory */
    struct token *token;           /* that clients have to have, or NULL */
    double idle;                   /* s until a silent client is forgotten */
    struct copy_session *sessions; /* see session.h */
    unsigned int session_count;
    struct token_refusals refusals;
    unsigned int open_count;    /* of all clients */
    unsigned int open_max;      /* for all of them */
    unsigned int last_number;   /* of a session, for messages */
    struct copy_chunk *waiting; /* for a buffer, see chunk.h */
    struct copy_chunk **waiting_end;
    struct copy_buffer *buffers; /* free ones */
    unsigned int buffer_count;   /* of all */
    unsigned int pending;        /* operations that will still call back */
    bool stopping;               /* every request is refused */
};

/* Handles every RPC (hg_rpc_cb_t). */
hg_return_t copy_server_handle(hg_handle_t handle);

/* Answers a request, and gives its handle back. session: whose it is, or NULL;
 * when the answer can't be delivered, the session is dropped. */
void copy_server_respond(struct copy_server *server,
    struct copy_session *session, hg_handle_t handle, union copy_out *out);

#endif /* COPY_SERVER_H */

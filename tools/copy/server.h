/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a server. One thread runs all of it. */
#ifndef COPY_SERVER_H
#define COPY_SERVER_H

#include "common/token.h"
#include "copy/proto.h"

struct copy_server {
    hg_class_t *hg_class; /* the class data is the server */
    hg_context_t *context;
    hg_id_t ids[COPY_RPC_COUNT];
    int root;                      /* descriptor of the exported directory */
    struct token *token;           /* shared with clients, or NULL */
    double idle;                   /* s until an idle client is dropped */
    struct copy_session *sessions; /* see session.h */
    unsigned int session_count;
    struct token_refusals refusals;
    unsigned int open_count;    /* open files and listings of all clients */
    unsigned int open_max;      /* limit of open_count */
    unsigned int last_number;   /* of a session, for messages */
    struct copy_chunk *waiting; /* for a buffer, see chunk.h */
    struct copy_chunk **waiting_end;
    struct copy_buffer *buffers; /* free buffers */
    unsigned int buffer_count;   /* free and used */
    unsigned int pending;        /* operations whose callback has not run */
    bool stopping;               /* all requests are refused */
};

/* Handles every RPC (hg_rpc_cb_t). */
hg_return_t copy_server_handle(hg_handle_t handle);

/* Answers a request and destroys its handle. session: of the request, or NULL;
 * it is dropped if the answer cannot be delivered. */
void copy_server_respond(struct copy_server *server,
    struct copy_session *session, hg_handle_t handle, union copy_out *out);

#endif /* COPY_SERVER_H */

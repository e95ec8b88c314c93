/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that transfer data: chunks of files, pages of listings and batches of
 * small files. They are answered when the transfer has ended. */
#ifndef COPY_CHUNK_H
#define COPY_CHUNK_H

#include "copy/session.h"

/* Starts or queues a write, a read or a hash. Returns COPY_PENDING: the handle
 * was taken over and will be answered; otherwise the reason of the refusal. */
enum copy_status copy_chunk_start(struct copy_session *session,
    hg_handle_t handle, enum copy_rpc rpc, const copy_chunk_in_t *in);

/* The same for a verify. */
enum copy_status copy_chunk_verify(struct copy_session *session,
    hg_handle_t handle, const copy_verify_in_t *in);

/* The same for a list. */
enum copy_status copy_chunk_list(
    struct copy_session *session, hg_handle_t handle, const copy_list_in_t *in);

/* The same for a store. */
enum copy_status copy_chunk_store(struct copy_session *session,
    hg_handle_t handle, const copy_store_in_t *in);

/* Cancels the running transfers of a session and answers its waiting chunks. */
void copy_chunk_cancel(struct copy_session *session);

/* Frees the server's buffers. None may be in use. */
void copy_chunk_free_buffers(struct copy_server *server);

#endif /* COPY_CHUNK_H */

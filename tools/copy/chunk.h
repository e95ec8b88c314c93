/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of the server's that move data: chunks of files, and pages of
 * listings. They are answered when the transfer has ended. */
#ifndef COPY_CHUNK_H
#define COPY_CHUNK_H

#include "copy/session.h"

/* Starts a write, a read or a hash, or lets it wait. Returns COPY_LATER, and the
 * handle is taken over and answered in the end; or why it is refused. */
enum copy_status copy_chunk_start(struct copy_session *session,
    hg_handle_t handle, enum copy_rpc rpc, const copy_chunk_in_t *in);

/* The same for a list. */
enum copy_status copy_chunk_list(
    struct copy_session *session, hg_handle_t handle, const copy_list_in_t *in);

/* Ends those of a session: running transfers are asked to, those that wait are
 * answered. */
void copy_chunk_cancel(struct copy_session *session);

/* Frees the server's buffers, when none is in use. */
void copy_chunk_free_buffers(struct copy_server *server);

#endif /* COPY_CHUNK_H */

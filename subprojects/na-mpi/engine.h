/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends and receives of MPI on one communicator. All under nampi_lock. */
#ifndef NAMPI_ENGINE_H
#define NAMPI_ENGINE_H

#include "class.h"

/* An engine for a communicator; NULL: no memory. */
struct nampi_engine *nampi_engine_new(MPI_Comm comm);

/* A message with room for length bytes, header zeroed; NULL: no memory. */
struct nampi_send *nampi_send_new(enum nampi_kind kind, uint32_t length);

/* Hands a message to MPI, its header filled in; it is freed in any case. channel
 * and cls: NULL, or who has to wait for its end. NOMEM, HOSTUNREACH, AGAIN (too
 * many that are nobody's). */
int32_t nampi_send_start(struct nampi_engine *engine, int rank,
    struct nampi_send *send, na_plugin_class *cls,
    struct nampi_channel *channel);

/* Ends what has ended, and brings what has come to its class, or drops it if the
 * engine is stopped. False: MPI fails. */
bool nampi_engine_step(struct nampi_engine *engine);

/* The same, but false for an engine that is stopped. */
bool nampi_engine_progress(struct nampi_engine *engine);

/* The same until MPI has nothing more of a class, for at most a second. */
void nampi_engine_let_out(na_plugin_class *cls);

/* Nobody waits for the sends of a channel, or of a class, any more. */
void nampi_engine_orphan(
    const na_plugin_class *cls, const struct nampi_channel *channel);

#endif /* NAMPI_ENGINE_H */

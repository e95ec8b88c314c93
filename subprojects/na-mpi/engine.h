/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI sends and receives on one communicator. nampi_lock is held in all
 * functions, except nampi_engine_new and nampi_send_new, which need no lock.
 * None of them blocks, except nampi_engine_flush. */
#ifndef NAMPI_ENGINE_H
#define NAMPI_ENGINE_H

#include "class.h"

/* Allocates an engine for a communicator. Returns NULL without memory. */
struct nampi_engine *nampi_engine_new(MPI_Comm comm);

/* Allocates a message with length bytes of data and a header of zeros but for
 * magic and kind. Returns NULL without memory. */
struct nampi_send *nampi_send_new(enum nampi_kind kind, uint32_t length);

/* Sends a message whose header is complete, and takes over its memory, on
 * errors too. cls and channel: NULL, or what counts it in sending until it
 * completes; the channel is flushed then. NOMEM; HOSTUNREACH: MPI failed, or
 * the engine is stopped; AGAIN: too many sends without a class. */
int32_t nampi_send_start(struct nampi_engine *engine, int rank,
    struct nampi_send *send, na_plugin_class *cls,
    struct nampi_channel *channel);

/* Completes sends, and receives messages and delivers them to their classes; a
 * stopped engine drops them. Returns false if MPI fails or memory runs out, and
 * from then on. */
bool nampi_engine_step(struct nampi_engine *engine);

/* As nampi_engine_step, but fails if the engine is stopped. */
bool nampi_engine_progress(struct nampi_engine *engine);

/* Makes progress until all sends of a class are complete, for at most a
 * second. */
void nampi_engine_flush(na_plugin_class *cls);

/* Detaches a channel from its sends, before it is freed. With channel NULL
 * detaches the class from all of its sends, which become orphans. */
void nampi_engine_detach(
    const na_plugin_class *cls, const struct nampi_channel *channel);

#endif /* NAMPI_ENGINE_H */

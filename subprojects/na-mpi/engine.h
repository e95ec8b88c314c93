/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends and receives of MPI on one communicator. All under nampi_lock. */
#ifndef NAMPI_ENGINE_H
#define NAMPI_ENGINE_H

#include "class.h"

/* An engine for a communicator; NULL: no memory. */
struct nampi_engine *nampi_engine_new(MPI_Comm comm);

/* A message with room for length bytes, header zeroed; NULL: no memory. */
struct nampi_send *nampi_send_new(uint32_t length);

/* Hands a message to MPI, to a peer (header filled in as far as it names the two
 * classes), or to a rank without one; it is freed in any case. NOMEM, HOSTUNREACH. */
int32_t nampi_send_to(na_plugin_addr *peer, struct nampi_send *send);
int32_t nampi_send_nameless(
    struct nampi_engine *engine, int rank, struct nampi_send *send);

/* Ends what has ended, and brings what has come to its class. False: MPI fails. */
bool nampi_engine_progress(struct nampi_engine *engine);

/* The same until MPI has nothing more of a class, for at most a second. */
void nampi_engine_let_out(na_plugin_class *cls);

/* Takes a class's peers away from its sends. */
void nampi_engine_orphan(const na_plugin_class *cls);

#endif /* NAMPI_ENGINE_H */

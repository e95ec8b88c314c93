/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving leftover messages before a communicator is freed or MPI is
 * finalized, as MPI requires: with an unreceived message MPI_Finalize of MPICH
 * 4.2 fails, and the other processes wait for this one. Classes that are closed
 * at the same time leave such messages: NAMPI_BYE and NAMPI_GONE to a class
 * that is already closed.
 */
#ifndef NAMPI_DRAIN_H
#define NAMPI_DRAIN_H

#include "class.h"

/* Receives and drops all messages of the communicator, and stops the engine for
 * good. Collective: blocks until all processes of the communicator have called
 * it. Takes nampi_lock. */
void nampi_drain_all(struct nampi_engine *engine);

/* Receives and drops the messages that have arrived, for at most a second. For
 * a communicator that is being freed. Takes nampi_lock. */
void nampi_drain_arrived(struct nampi_engine *engine);

#endif /* NAMPI_DRAIN_H */

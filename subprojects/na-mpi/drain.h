/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving what nobody wants any more. MPI demands that every message be
 * received before its communicator is freed and before MPI ends; MPI_Finalize
 * of MPICH 4.2 fails if one was not, and the other processes then wait for this
 * one. Classes that are closed at the same time leave such messages: farewells
 * and answers on their way to one that is no longer there.
 */
#ifndef NAMPI_DRAIN_H
#define NAMPI_DRAIN_H

#include "class.h"

/* Receives and drops all messages of the communicator. Collective: all of its
 * processes call it, and none sends afterwards. Takes nampi_lock. */
void nampi_drain_all(struct nampi_engine *engine);

/* Receives and drops what has arrived, of a communicator that is being freed.
 * Takes at most a second. Takes nampi_lock. */
void nampi_drain_arrived(struct nampi_engine *engine);

#endif /* NAMPI_DRAIN_H */

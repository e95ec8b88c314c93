/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI in this process: initializing it if the program has not, finalizing it in
 * that case, and the engines of its communicators. */
#ifndef NAMPI_RUNTIME_H
#define NAMPI_RUNTIME_H

#include "class.h"

/*
 * Returns the engine of the communicator that the setting mpi.communicator
 * names, by default the plugin's own. Increments engine->users; the caller
 * decrements it, under nampi_lock, when the class is closed. Initializes MPI if
 * necessary, which blocks until all processes of the job do so; creating the
 * plugin's own communicator is collective too. Takes nampi_lock.
 *
 * ADDRNOTAVAIL: MPI is finalized already; NODEV: MPI failed; INVALID_ARG: no
 * such communicator; OPNOTSUPPORTED: MPI was initialized with too low a thread
 * level; NOMEM. Logged, except NOMEM.
 */
int32_t nampi_runtime_open(const na_plugin_host *host,
    const na_plugin_open_info *info, struct nampi_engine **engine_p);

#endif /* NAMPI_RUNTIME_H */

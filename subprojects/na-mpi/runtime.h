/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI in this process: begun by the program or here, ended by who began it; and
 * the engines of its communicators. */
#ifndef NAMPI_RUNTIME_H
#define NAMPI_RUNTIME_H

#include "class.h"

/* The engine of the communicator that the setting mpi.communicator names, with
 * one user more, whom the caller takes away under nampi_lock. Begins MPI if nobody has, and then blocks until all processes of the
 * job have done so. Logs errors. */
int32_t nampi_runtime_open(const na_plugin_host *host,
    const na_plugin_open_info *info, struct nampi_engine **engine_p);

#endif /* NAMPI_RUNTIME_H */

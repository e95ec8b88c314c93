/* SPDX-License-Identifier: BSD-3-Clause */
/* For programs that pass a communicator of their own to the plugin mpi. */
#ifndef NA_MPI_H
#define NA_MPI_H

#include <mpi.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the setting, with its terminating zero. */
#define NA_MPI_SETTING_SIZE 32

/*
 * Writes the setting "mpi.communicator=N", which makes a class use comm, for
 * the settings of talaria_na_initialize and talaria_hg_init. It is valid in
 * this process only.
 *
 * comm: an intracommunicator, for example from MPI_Comm_dup. It belongs to the
 * plugin until the last class on it is closed; the program does not use or free
 * it before. Its error handler becomes MPI_ERRORS_RETURN. Ranks in addresses
 * are its ranks. Opening a class on it is not collective. Before MPI_Comm_free,
 * all processes close their classes and call MPI_Barrier, so that no message of
 * a class is in flight.
 *
 * text: where the setting is written; the caller's.
 */
static inline void
na_mpi_communicator_setting(MPI_Comm comm, char text[NA_MPI_SETTING_SIZE])
{
    snprintf(text, NA_MPI_SETTING_SIZE, "mpi.communicator=%d",
        (int) MPI_Comm_c2f(comm));
}

#ifdef __cplusplus
}
#endif

#endif /* NA_MPI_H */

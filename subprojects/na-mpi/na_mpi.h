/* SPDX-License-Identifier: BSD-3-Clause */
/* For programs that hand a communicator of their own to the plugin mpi. */
#ifndef NA_MPI_H
#define NA_MPI_H

#include <mpi.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the text, its zero included. */
#define NA_MPI_SETTING_SIZE 32

/*
 * Writes the setting "mpi.communicator=N" that makes a class use comm, for the
 * settings of talaria_na_initialize and talaria_hg_init.
 *
 * comm: an intracommunicator, which belongs to the plugin until the last class
 * on it is closed: the program sends nothing in it, and does not free it. Its
 * error handler becomes MPI_ERRORS_RETURN. Addresses name its ranks. To open a
 * class on it is not collective; MPI_Comm_dup, by which a program comes to a
 * communicator to hand over, is. MPI_Barrier between closing the classes and
 * MPI_Comm_free makes sure that all of their messages are received before. The
 * text is valid in this process only.
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases for transports whose processes a launcher must start, as mpirun for
 * MPI. The launcher starts as many processes as the case has. They pass their
 * environment and descriptors to the processes of the case and wait for its
 * end. */
#ifndef KIT_LAUNCH_H
#define KIT_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

/* Whether cases are launched (--launch). */
bool kit_launched(void);

/* Starts the launcher for the case's process and `count` worker processes. The
 * case is not run if they do not all start. */
void kit_launch(uint32_t count);

/* Takes over environment and descriptors of launched process `number`, and
 * opens and closes a class, since a job may start only with all of its
 * processes. */
void kit_launch_join(uint32_t number);

/* If cases are launched, moves a descriptor above those of launched processes.
 * Returns the new number. */
int kit_launch_move(int fd);

/* Runs a launched process: passes environment and descriptors to the case that
 * listens at a name, and waits for its end. Returns the exit status. */
int kit_launch_lend(const char *name);

#endif /* KIT_LAUNCH_H */

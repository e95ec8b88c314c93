/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cases whose processes have to be started by a launcher, as those of MPI by
 * mpirun. The launcher starts as many processes as the case has, which lend their
 * environment and descriptors to the case's own, and wait for its end.
 */
#ifndef KIT_LAUNCH_H
#define KIT_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

/* Whether cases are launched (--launch). */
bool kit_launched(void);

/* Starts the launcher for the case's process and count worker processes. Not run
 * when it does not start them all. */
void kit_launch(uint32_t count);

/* Takes what launched process number place lends, and opens and closes a class,
 * since such a job may begin with all of its processes only. */
void kit_launch_join(uint32_t place);

/* Moves a descriptor to where it is in nobody's way, if cases are launched. */
int kit_launch_move(int fd);

/* The whole work of a launched process: lends to who listens at that name.
 * Returns what the command does. */
int kit_launch_lend(const char *name);

#endif /* KIT_LAUNCH_H */

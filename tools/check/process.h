/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that play a side each, forked before anything is loaded. */
#ifndef KIT_PROCESS_H
#define KIT_PROCESS_H

#include "check/executor.h"

#include <sys/types.h>

struct kit_process {
    pid_t pid;  /* 0: not started, or ended */
    int socket; /* to it */
};

/* Starts worker processes 0 to count - 1. Not run when the system refuses. */
void kit_processes_start(uint32_t count);

/* A command and its answer. Fails the case if the process dies meanwhile. */
void kit_process_call(uint32_t process, const struct kit_command *command,
    struct kit_answer *answer);

/* Its two halves, and whether the answer, or the process's end, can be read. */
void kit_process_send(uint32_t process, const struct kit_command *command);
bool kit_process_readable(uint32_t process);
void kit_process_receive(uint32_t process, struct kit_answer *answer);

/* Signals and reaps; later commands are not run. */
void kit_process_signal(uint32_t process, int signal);
void kit_process_exit(uint32_t process);
bool kit_process_alive(uint32_t process);

/* Ends the living ones in order, and checks how they end. */
void kit_processes_end(void);

/* side.c's: closes the sides that a script left open. */
void kit_sides_end(void);

#endif /* KIT_PROCESS_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Worker processes, forked before anything is loaded. Each has one side. */
#ifndef KIT_PROCESS_H
#define KIT_PROCESS_H

#include "check/executor.h"

#include <sys/types.h>

struct kit_process {
    pid_t pid;  /* 0: not started, or ended */
    int socket; /* connected to it */
};

/* Sends (out) or receives all bytes at a stream socket, since packets have no
 * size limit. false: an error, or the other side has closed. */
bool kit_process_move(int fd, void *bytes, size_t length, bool out);

/* Starts worker processes 0 to count - 1. The case is not run if the system
 * refuses. */
void kit_processes_start(uint32_t count);

/* Executes a command and gets its answer. Fails the case if the process
 * dies. */
void kit_process_call(uint32_t process, const struct kit_command *command,
    struct kit_answer *answer);

/* Its two halves, and whether kit_process_receive would return at once. */
void kit_process_send(uint32_t process, const struct kit_command *command);
bool kit_process_readable(uint32_t process);
void kit_process_receive(uint32_t process, struct kit_answer *answer);

/* Send a signal and reap. No command may follow. */
void kit_process_signal(uint32_t process, int signal);
void kit_process_exit(uint32_t process);
bool kit_process_alive(uint32_t process);

/* Ends the living processes and checks their exit. */
void kit_processes_end(void);

/* In side.c: closes the sides that a script left open. */
void kit_sides_end(void);

#endif /* KIT_PROCESS_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that play a side each, forked before anything is loaded. */
#ifndef KIT_PUPPET_H
#define KIT_PUPPET_H

#include "check/player.h"

#include <sys/types.h>

struct kit_puppet {
    pid_t pid;  /* 0: not started, or gone */
    int socket; /* to it */
};

/* Starts puppets 0 to count - 1. Not run when the system refuses. */
void kit_puppets_start(uint32_t count);

/* A command and its answer. Fails the case if the puppet dies over it. */
void kit_puppet_ask(uint32_t puppet, const struct kit_command *command,
    struct kit_answer *answer);

/* The halves of it, and whether the answer, or the puppet's end, is there. */
void kit_puppet_tell(uint32_t puppet, const struct kit_command *command);
bool kit_puppet_heard(uint32_t puppet);
void kit_puppet_hear(uint32_t puppet, struct kit_answer *answer);

/* Signals and reaps; what is asked afterwards is not run. */
void kit_puppet_signal(uint32_t puppet, int signal);
void kit_puppet_exit(uint32_t puppet);
bool kit_puppet_lives(uint32_t puppet);

/* Ends those that live, in order, and looks how they end. */
void kit_puppets_end(void);

/* side.c's: closes the sides that a script left open. */
void kit_sides_end(void);

#endif /* KIT_PUPPET_H */

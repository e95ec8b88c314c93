/* SPDX-License-Identifier: BSD-3-Clause */
/* SIGINT and SIGTERM, as a flag that loops check. */
#ifndef COPY_SIGNAL_H
#define COPY_SIGNAL_H

#include <stdbool.h>

/* Installs the handlers: the first signal sets the flag, the second one ends
 * the program. SIGXFSZ is ignored. To be called again after a transport was
 * opened, since some libraries install handlers of their own. */
void copy_signal_catch(void);

/* Returns whether a signal was received. */
bool copy_signal_received(void);

/* Returns the exit status of a command that a signal has interrupted, as shells
 * have it: 130 after SIGINT. */
int copy_signal_status(void);

#endif /* COPY_SIGNAL_H */

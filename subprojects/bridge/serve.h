/* SPDX-License-Identifier: BSD-3-Clause */
/* One thread drives several contexts and sleeps when they are idle. */
#ifndef SERVE_H
#define SERVE_H

#include <mercury.h>

/* Blocks SIGINT and SIGTERM for serve. To be called before a class is opened,
 * so that the threads of a transport inherit the mask. Returns 0 on success. */
int serve_prepare(void);

/* Progresses and triggers the contexts until SIGINT or SIGTERM. Returns 0 after
 * a signal, -1 after an error message. */
int serve(hg_context_t *const *contexts, unsigned count);

#endif /* SERVE_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* One thread that drives several contexts and sleeps when none has work. */
#ifndef SERVE_H
#define SERVE_H

#include <mercury.h>

/* Blocks SIGINT and SIGTERM, for serve to see them. Before any class is
 * opened, so that threads of a transport inherit it. 0: done. */
int serve_prepare(void);

/* Progresses and triggers the contexts until SIGINT or SIGTERM arrives. 0: so
 * it was asked to end; -1: it cannot go on, after a line on stderr. */
int serve(hg_context_t *const *contexts, unsigned count);

#endif /* SERVE_H */

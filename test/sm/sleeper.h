/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that sleeps on the descriptor of a context, as the core does. */
#ifndef SLEEPER_H
#define SLEEPER_H

#include "harness.h"

#define SLEEP_PATIENCE_MS 5000

/* Sleeps on a context until it has an event, without polling meanwhile; fails
 * if it is not woken within five seconds. */
na_plugin_event sleep_for_event(struct node *node, uint32_t index);

#endif /* SLEEPER_H */

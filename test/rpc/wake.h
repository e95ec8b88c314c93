/* SPDX-License-Identifier: BSD-3-Clause */
/* What cases of who sleeps share: over the loop plugin within one class, so that
 * the test alone decides when an event appears. */
#ifndef WAKE_H
#define WAKE_H

#include "rpcs.h"

/* Long after the sleepers are woken when nothing is wrong, and well before the
 * limit of a test. */
#define ASLEEP_MS (test_count(TEST_WAIT_MS) / 2)
#define DEADLINE_MS 300U

extern const struct session_setup wake_setup;

/* Whether an outside loop that sleeps on the context now would wake up. */
bool wake_is_readable(hg_context_t *context);

/* An outside loop begins to sleep. */
void wake_sleep_outside(struct session *s);

/* Forwards to oneself a request whose sending the plugin holds back. The two
 * events that it brings appear with loop_release. */
void wake_hold_request(struct session *s, struct call *call);

/* Something is complete at once, without an event of the plugin. */
void wake_complete(struct session *s);

/* A handle with a deadline of DEADLINE_MS, whose request will not be sent. */
hg_handle_t wake_create_with_deadline(struct session *s);

#endif /* WAKE_H */

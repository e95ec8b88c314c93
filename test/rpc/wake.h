/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers for wake-up cases: over the loop plugin within one class, so that the
 * test alone decides when an event appears. */
#ifndef WAKE_H
#define WAKE_H

#include "rpcs.h"

/* Far longer than a correct wake-up takes, and well below the limit of a
 * test. */
#define ASLEEP_MS (test_count(TEST_WAIT_MS) / 2)
#define DEADLINE_MS 300U

extern const struct session_setup wake_setup;

/* Begins a session within one class. Its waits find that the machine is not
 * oversubscribed, whatever else runs: no call wakes a sleeping thread early. */
void wake_begin(struct session *s);

/* Fixes what the waits of a context find. Before any thread uses it. */
void wake_set_oversubscribed(struct session *s, bool oversubscribed);

/* Whether an external loop that slept on the context now would wake up. */
bool wake_is_readable(hg_context_t *context);

/* Prepares an external loop for sleeping. */
void wake_sleep_outside(struct session *s);

/* Forwards a request without a response to self whose send the plugin holds
 * back. Its two events appear with loop_release. */
void wake_hold_request(struct session *s, struct call *call);

/* Completes an operation at once, without an event of the plugin. */
void wake_complete(struct session *s);

/* Creates a handle with a deadline of DEADLINE_MS, whose request is not
 * sent. */
hg_handle_t wake_create_with_deadline(struct session *s);

#endif /* WAKE_H */

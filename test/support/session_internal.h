/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the session's own files only. */
#ifndef SESSION_INTERNAL_H
#define SESSION_INTERNAL_H

#include "session.h"

#define SERVE_STEP_MS 2U

struct session_shared {
    _Atomic bool stop;
    _Atomic int
        failed; /* line of session_target.c at which the target failed */
    _Atomic bool target_failed;
    char failure[256];
    char user[SESSION_USER_SIZE] __attribute__((aligned(64)));
};

/* Publishes the address of the target's class to the origin. */
void session_write_address(const struct session *session, hg_class_t *hg_class);

/* Start the target, and wait for its end. No-ops when both sides share a
 * class. */
void session_start_target(struct session *session);
void session_join_target(struct session *session);

/* Called once, before any case. */
void session_wait_prepare(void);

#endif /* SESSION_INTERNAL_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of a session share, and nobody else. */
#ifndef SESSION_INTERNAL_H
#define SESSION_INTERNAL_H

#include "session.h"

#define SERVE_STEP_MS 2U

struct session_shared {
    _Atomic bool stop;
    _Atomic int
        failed; /* a line of session_target.c, where the target failed */
    _Atomic bool complained;
    char complaint[256];
    char user[SESSION_USER_SIZE] __attribute__((aligned(64)));
};

/* Tells the origin the address of a class of the target's. */
void session_write_address(const struct session *session, hg_class_t *hg_class);

/* Starts the target, and waits for its end, unless there is none but the
 * origin's class. */
void session_start_target(struct session *session);
void session_join_target(struct session *session);

/* Before any case. */
void session_wait_prepare(void);

#endif /* SESSION_INTERNAL_H */

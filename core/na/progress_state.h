/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of progress.h, which its files share. */
#ifndef NA_PROGRESS_STATE_H
#define NA_PROGRESS_STATE_H

#include "base/completion.h"
#include "base/lock.h"
#include "na/spin.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct na_context;

#define NA_PROGRESS_SOURCES 2U

/* Events that a plugin is asked for at once. */
#define NA_POLL_BATCH 16U

struct na_progress {
    struct base_lock lock; /* serializes poll, arm and cancel */
    struct na_context *sources[NA_PROGRESS_SOURCES];
    unsigned source_count;
    struct base_completion_queue *queue; /* what waiting waits for */
    _Atomic uint32_t contenders;         /* threads that want the lock */
    _Atomic uint32_t sleeping;           /* NA_PROGRESS_* bits */
    _Atomic uint64_t timer; /* when expire is to be called, or never */
    void (*expire)(void *arg, uint64_t now);
    void *expire_arg;
    void (*fail)(void *arg, struct na_context *context);
    void *fail_arg;
    bool leading;
    bool no_block;
    struct base_signal left; /* the leader has */
    uint64_t spin_ns;        /* how long to spin before the next sleep */
    struct na_spin spin;     /* whether to */
    uint64_t nap_ns;         /* next nap where a plugin cannot wait */
    int wake_fd;             /* eventfd: rouses who sleeps */
    int epoll_fd;            /* for an outside loop, -1 until asked for */
    int timer_fd;            /* likewise: a plugin's retry timer */
};

/* Who sleeps: the leader; an outside event loop. And that the timer is set,
 * since both are looked at together. */
#define NA_PROGRESS_LEADER 0x1U
#define NA_PROGRESS_OUTSIDE 0x2U
#define NA_PROGRESS_SLEEPERS (NA_PROGRESS_LEADER | NA_PROGRESS_OUTSIDE)
#define NA_PROGRESS_TIMED 0x4U

#endif /* NA_PROGRESS_STATE_H */

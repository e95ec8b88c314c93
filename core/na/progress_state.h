/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of progress.h, shared by its files. */
#ifndef NA_PROGRESS_STATE_H
#define NA_PROGRESS_STATE_H

#include "base/completion.h"
#include "base/lock.h"
#include "na/pause.h"
#include "na/spin.h"
#include "na/yield.h"
#include "na_plugin.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct na_context;

#define NA_PROGRESS_SOURCES 2U

/* Maximum events of one poll. */
#define NA_POLL_BATCH 16U

struct na_progress {
    struct base_lock lock; /* serializes poll, arm and cancel */
    struct na_context *sources[NA_PROGRESS_SOURCES];
    unsigned source_count;
    unsigned timeout_ms;                 /* of the wait that has the lock */
    struct base_completion_queue *queue; /* completions to wait for */
    _Atomic uint32_t contenders;         /* threads that wait for the lock */
    _Atomic uint32_t sleeping;           /* NA_PROGRESS_* bits */
    _Atomic uint64_t timer;              /* when to call expire, or never */
    void (*expire)(void *arg, uint64_t now);
    void *expire_arg;
    void (*fail)(void *arg, struct na_context *context);
    void *fail_arg;
    bool leading; /* a thread is the leader */
    bool no_block;
    struct base_signal left; /* the leader left */
    uint32_t quiet_events;   /* spin.events when a wait last ended in vain */
    uint64_t
        yield_ns; /* time to spin before the first yield of the next wait; 0
                            in a new context: at once */
    struct na_spin spin;     /* whether to spin */
    uint32_t early_events;   /* spin.events at the last early wake-up */
    _Atomic int sleeper_cpu; /* where it slept that may be woken early */
    struct na_yield yield;   /* whether to yield */
    struct na_pause pause;   /* of the yields of polls */
    uint64_t nap_ns;         /* next pause if a plugin has no descriptor */
    int wake_fd;             /* eventfd that wakes sleepers */
    int epoll_fd;            /* for an external loop, -1 until created */
    int timer_fd;            /* for an external loop: retry time of a plugin */
    na_plugin_event events[NA_POLL_BATCH]; /* of the wait that has the lock */
};

/* Bits of `sleeping`: the leader sleeps; an external event loop sleeps. Two more are
 * here since a poll checks all together: the timer is set; there are several
 * sources. */
#define NA_PROGRESS_LEADER 0x1U
#define NA_PROGRESS_OUTSIDE 0x2U
#define NA_PROGRESS_SLEEPERS (NA_PROGRESS_LEADER | NA_PROGRESS_OUTSIDE)
#define NA_PROGRESS_TIMED 0x4U
#define NA_PROGRESS_SEVERAL 0x8U

#endif /* NA_PROGRESS_STATE_H */

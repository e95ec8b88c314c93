/* SPDX-License-Identifier: BSD-3-Clause */
/* State of a class for the rule violations of wire plugin variants. */
#ifndef VIOLATION_H
#define VIOLATION_H

#include <stdbool.h>
#include <stdint.h>

#include "na_plugin.h"

struct wire_op;

struct wire_violation {
    uint32_t count;     /* counter, for violations that happen now and then */
    uint32_t polled;    /* number of the context that is or was polled */
    bool inside;        /* a poll is running */
    bool failed;        /* a peer has failed */
    bool forgetting;    /* addr_forget is running */
    uint32_t destroyed; /* bits: contexts that were destroyed */
    _Atomic uint32_t polling; /* threads in poll */
    na_plugin_event again; /* operation to report to this context; NULL: none */
    na_plugin_ctx *again_ctx;
    struct wire_op *late_op; /* operation to access although it has ended */
    unsigned char *late_buffer;
    void *ghost; /* a cancelled receive, and its buffer */
    unsigned char *ghost_buffer;
    uint64_t ghost_length;
    void *gone_core_ctx; /* of a context that was destroyed */
    int extra_fd;
    /* a delayed fragment of a put or get */
    uint64_t stash_due_ns; /* 0: none */
    uint64_t stash_mem;
    uint64_t stash_offset;
    uint32_t stash_length;
    unsigned char *stash;
    /* a message that is sent at a later poll */
    const unsigned char *unsent;
    na_plugin_addr *unsent_peer;
    unsigned char *unsent_copy; /* copy, of a variant that delays it */
    uint32_t unsent_polls;      /* by this many polls */
    uint32_t unsent_length;
    uint8_t unsent_type, unsent_target, unsent_source;
    uint64_t unsent_tag;
};

/* All functions are called with the lock held. */

/* Capabilities that a class announces. */
void wire_violation_opened(na_plugin_class *cls, na_plugin_opened *opened);
/* Before and after the work of a poll. count: events so far; returns the new
 * number. */
void wire_violation_before_poll(na_plugin_ctx *ctx);
uint32_t wire_violation_after_poll(
    na_plugin_ctx *ctx, na_plugin_event *events, uint32_t count, uint32_t max);
/* Before an event is reported. */
void wire_violation_event(
    na_plugin_ctx *ctx, struct wire_op *op, na_plugin_event *event);
/* A pending operation is being cancelled. true: skip the normal handling. */
bool wire_violation_cancel(na_plugin_ctx *ctx, struct wire_op *op);
/* A context with pending operations is being destroyed. */
void wire_violation_destroy(na_plugin_ctx *ctx);
/* An unexpected message arrived. true: it was dropped. */
bool wire_violation_arrived(na_plugin_ctx *ctx, const unsigned char *bytes,
    uint64_t length, na_plugin_addr *source, uint64_t tag);
/* A fragment for a registration arrived. true: it is kept for later. */
bool wire_violation_stash(na_plugin_class *cls, const na_plugin_mem *mem,
    uint64_t offset, const unsigned char *bytes, uint32_t length);
/* Schedules an event for an operation that must not get one. */
void wire_violation_again(struct wire_op *op, int32_t status);
/* Reports a send as complete before its message is sent. */
void wire_violation_unsent(struct wire_op *op);
void wire_violation_finish(na_plugin_class *cls);

#endif /* VIOLATION_H */

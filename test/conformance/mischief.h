/* SPDX-License-Identifier: BSD-3-Clause */
/* What variants of the wire plugin keep in a class to do their mischief with. */
#ifndef MISCHIEF_H
#define MISCHIEF_H

#include <stdbool.h>
#include <stdint.h>

#include "na_plugin.h"

struct wire_op;

struct wire_mischief {
    uint32_t count;     /* of something that is done now and then */
    uint32_t polled;    /* number of the context whose poll it is, or was */
    bool inside;        /* a poll is at work */
    bool failed;        /* a peer has */
    bool forgetting;    /* addr_forget is at work */
    uint32_t destroyed; /* bits: contexts that were */
    _Atomic uint32_t polling; /* threads in poll */
    na_plugin_event again; /* to be reported, to this context; NULL: nothing */
    na_plugin_ctx *again_ctx;
    struct wire_op *late_op; /* to be touched although it has ended */
    unsigned char *late_buffer;
    void *ghost; /* a receive that was cancelled, and its buffer */
    unsigned char *ghost_buffer;
    uint64_t ghost_length;
    void *gone_core_ctx; /* of a context that was destroyed */
    int extra_fd;
    /* a piece of a put or get that comes late */
    uint64_t stash_due_ns; /* 0: none */
    uint64_t stash_mem;
    uint64_t stash_offset;
    uint32_t stash_length;
    unsigned char *stash;
    /* a message that goes out at a later poll */
    const unsigned char *unsent;
    na_plugin_addr *unsent_peer;
    unsigned char *unsent_copy; /* of a variant whose message stays for */
    uint32_t unsent_polls;      /* so many polls */
    uint32_t unsent_length;
    uint8_t unsent_type, unsent_target, unsent_source;
    uint64_t unsent_tag;
};

/* All with the lock held. */

/* What a class says of itself. */
void wire_mischief_opened(na_plugin_class *cls, na_plugin_opened *opened);
/* Before and after the work of a poll; the number of events so far, and then. */
void wire_mischief_before_poll(na_plugin_ctx *ctx);
uint32_t wire_mischief_after_poll(
    na_plugin_ctx *ctx, na_plugin_event *events, uint32_t count, uint32_t max);
/* An event is about to be reported. */
void wire_mischief_event(
    na_plugin_ctx *ctx, struct wire_op *op, na_plugin_event *event);
/* A pending operation is cancelled. true: that is all that is done. */
bool wire_mischief_cancel(na_plugin_ctx *ctx, struct wire_op *op);
/* A context goes, with what is pending. */
void wire_mischief_destroy(na_plugin_ctx *ctx);
/* An unexpected message has come. true: it is gone. */
bool wire_mischief_arrived(na_plugin_ctx *ctx, const unsigned char *bytes,
    uint64_t length, na_plugin_addr *source, uint64_t tag);
/* A piece that belongs into a registration. true: it is kept for later. */
bool wire_mischief_stash(na_plugin_class *cls, const na_plugin_mem *mem,
    uint64_t offset, const unsigned char *bytes, uint32_t length);
/* Has an event of an operation reported that has none. */
void wire_mischief_again(struct wire_op *op, int32_t status);
/* A message whose send is to be over at once. */
void wire_mischief_unsent(struct wire_op *op);
void wire_mischief_finish(na_plugin_class *cls);

#endif /* MISCHIEF_H */

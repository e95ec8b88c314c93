/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A class, and memory of another class of the same process that it reaches
 * through the transport: for transfers whose puts and gets the loop plugin
 * makes fail. The owner makes no progress once both are connected, except over
 * transports between hosts, which need it: there it has a thread.
 */
#ifndef REMOTE_H
#define REMOTE_H

#include "mercury_bulk.h"
#include "session.h"

#define REMOTE_SIZE 20000U
#define REMOTE_PIECES 7U

struct remote {
    struct session s;
    hg_class_t *owner_class;
    /* NULL over the loop plugin, which needs none */
    hg_context_t *owner_context;
    pthread_t owner_thread; /* over transports between hosts */
    _Atomic bool stop;
    hg_addr_t owner;
    unsigned char *origin_memory;
    unsigned char *local_memory;
    hg_bulk_t owned;  /* the owner's descriptor */
    hg_bulk_t origin; /* the deserialized copy at the other class */
    hg_bulk_t local;
    struct call call;
};

/* Opens both classes. The origin's memory has a pattern, the local one is zero;
 * REMOTE_SIZE bytes each. */
void remote_begin(
    struct remote *remote, int mode, const struct session_setup *setup);
void remote_end(struct remote *remote);

/* Creates a read-write descriptor of REMOTE_SIZE bytes in count segments. */
hg_bulk_t remote_describe(
    hg_class_t *hg_class, unsigned char *memory, uint32_t count);

/* Serializes bulk and deserializes it at class `to`. */
hg_bulk_t remote_send(hg_bulk_t bulk, unsigned long flags, hg_class_t *to);

#endif /* REMOTE_H */

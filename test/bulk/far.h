/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A class, and memory of another class of the same process that it reaches
 * through the transport: what is wanted of a transfer whose puts and gets the
 * loop plugin is told to spoil. The owner is idle once both have met, except over
 * the transports between hosts, which want it to progress: it has a thread for
 * that.
 */
#ifndef FAR_H
#define FAR_H

#include "mercury_bulk.h"
#include "session.h"

#define FAR_SIZE 20000U
#define FAR_PIECES 7U

struct far {
    struct session s;
    hg_class_t *owner_class;
    hg_context_t *owner_context; /* NULL: over the loop plugin it needs none */
    pthread_t owner_thread;      /* over transports between hosts */
    _Atomic bool stop;
    hg_addr_t owner;
    unsigned char *origin_memory;
    unsigned char *local_memory;
    hg_bulk_t owned;  /* the owner's descriptor */
    hg_bulk_t origin; /* the same, as the owner's peer got it */
    hg_bulk_t local;
    struct call call;
};

/* The origin's memory has a pattern, ours is zero; FAR_SIZE bytes each. */
void far_begin(struct far *far, int mode, const struct session_setup *setup);
void far_end(struct far *far);

/* A descriptor of FAR_SIZE bytes in so many pieces, for reading and writing. */
hg_bulk_t far_describe(
    hg_class_t *hg_class, unsigned char *memory, uint32_t count);

/* The descriptor that a class gets when bulk comes to it. */
hg_bulk_t far_send(hg_bulk_t bulk, unsigned long flags, hg_class_t *to);

#endif /* FAR_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transfer: it walks over both descriptors, cuts what is contiguous in the
 * registrations of both into puts or gets, and keeps several of them going.
 * It is used again and again by its context, and named outside by an id that
 * changes with each use, so that a late cancel finds nothing.
 */
#ifndef BULK_OP_H
#define BULK_OP_H

#include "bulk/bulk.h"
#include "na/op.h"

/* Puts or gets in flight for one transfer. */
#define BULK_LANES 4U

/* A position in a descriptor. */
struct bulk_cursor {
    const struct bulk_part *part;
    hg_size_t offset; /* within the part */
};

/* What is to be moved. */
struct bulk_request {
    hg_bulk_op_t op;
    uint8_t origin_id; /* the origin's context */
    struct hg_addr *addr;
    struct hg_bulk *origin;
    hg_size_t origin_offset;
    struct hg_bulk *local;
    hg_size_t local_offset;
    hg_size_t size;
};

struct bulk_op {
    struct base_completion completion;
    LIST_ENTRY(bulk_op) next;
    LIST_ENTRY(bulk_op) all_next; /* of the context */
    struct bulk_context *context;
    unsigned side;                 /* the transport that it is made for */
    struct na_context *na_context; /* of that */
    hg_cb_t callback;              /* in trigger, or: */
    void (*done)(void *arg, hg_return_t ret); /* in progress */
    void *arg;
    hg_bulk_op_t op;
    struct hg_bulk *origin;
    struct hg_bulk *local;
    struct hg_addr addr;
    uint8_t origin_id;
    hg_size_t size;

    /* Under lock. */
    struct base_lock lock;
    struct bulk_cursor origin_at;
    struct bulk_cursor local_at;
    hg_size_t left;      /* bytes not yet submitted */
    uint32_t busy;       /* lanes in flight, and one while submitting */
    uint32_t free_lanes; /* a bit each */
    hg_return_t ret;     /* the first error */

    uint32_t slot;               /* in the table of ids */
    _Atomic uint32_t generation; /* of the slot; odd while in use */
    struct na_op *lanes[BULK_LANES];
};

/* A transfer from the context's free ones for a transport, or a new one. */
struct bulk_op *bulk_op_get(struct bulk_context *context, unsigned side);

/* Gives it back, before its callback runs: what it held is released after. */
void bulk_op_put(struct bulk_op *op);

void bulk_op_destroy(struct bulk_op *op);

/*
 * A transfer for the core itself, which needs no trigger; checked, and its
 * descriptors and address held, as in HG_Bulk_transfer.
 *
 * *pending_p false: it is over, and the code returned is how it went. true
 * (with HG_SUCCESS): progress calls done once, with how it went, under the lock
 * of na/progress.h; done may submit and queue completions, it runs no user
 * code, and another thread may run it before this call returns.
 *
 * id_p: as of HG_Bulk_transfer, set before done can run; NULL if not wanted.
 * HG_Bulk_cancel takes that lock: not for who holds it. [any thread]
 */
hg_return_t bulk_transfer_internal(struct bulk_context *context,
    const struct bulk_request *request,
    void (*done)(void *arg, hg_return_t ret), void *arg, hg_op_id_t *id_p,
    bool *pending_p);

/* HG_Bulk_cancel for who holds the lock of na/progress.h. */
void bulk_transfer_cancel(hg_op_id_t id);

/* Ends a transfer of the core's own without calling done: its transport's
 * contexts are closed. */
void bulk_transfer_discard(hg_op_id_t id);

/* Ends a transfer, if it is under way, whose transport's context is dead. Lock of
 * progress held. */
void bulk_transfer_fail(struct bulk_op *op);

/* The same for all of a context. */
void bulk_context_fail(
    struct bulk_context *context, struct na_context *na_context);

/* The table of ids. add: NOMEM when it is full. begin makes the id valid, end
 * makes it stale: once it has returned no cancel is at work on the transfer. */
hg_return_t bulk_op_table_add(struct bulk_op *op);
void bulk_op_table_remove(struct bulk_op *op);
hg_op_id_t bulk_op_table_begin(struct bulk_op *op);
void bulk_op_table_end(struct bulk_op *op);

/* The transfer of an id if it is under way; NULL: it is not. Nobody ends it
 * meanwhile. */
struct bulk_op *bulk_op_table_find(hg_op_id_t id);

/* Calls cancel with the transfer of an id, if it is still under way, and with
 * its lock held. */
void bulk_op_table_cancel(hg_op_id_t id, void (*cancel)(struct bulk_op *op));

/* The same for who holds the lock of progress. */
void bulk_op_table_cancel_locked(
    hg_op_id_t id, void (*cancel)(struct bulk_op *op));

#endif /* BULK_OP_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transfer: walks over both descriptors, splits what is contiguous in the
 * registrations of both into puts or gets, and keeps several in flight. The
 * context reuses it. Outside it has an id that changes with each use, so that a
 * late cancel has no effect.
 */
#ifndef BULK_OP_H
#define BULK_OP_H

#include "bulk/bulk.h"
#include "na/op.h"

/* Puts or gets in flight for one transfer. */
#define BULK_IN_FLIGHT 4U

/* A position in a descriptor. */
struct bulk_cursor {
    const struct bulk_part *part;
    hg_size_t offset; /* within the part */
};

/* Arguments of a transfer. */
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
    unsigned side;                 /* the transport that it can use */
    struct na_context *na_context; /* of that transport */
    hg_cb_t callback;              /* run by trigger; or:  */
    void (*done)(void *arg, hg_return_t ret); /* run in progress */
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
    hg_size_t left;    /* bytes not submitted yet */
    uint32_t busy;     /* operations in flight, and one while submitting */
    uint32_t idle_ops; /* a bit for each operation */
    hg_return_t ret;   /* the first error */

    uint32_t slot;               /* of the table of ids */
    _Atomic uint32_t generation; /* of the slot; odd while in use */
    struct na_op *na_ops[BULK_IN_FLIGHT];
};

/* Gets a free transfer of the context for a transport, or creates one. */
struct bulk_op *bulk_op_get(struct bulk_context *context, unsigned side);

/* Returns it to the context, before its callback runs and its references are
 * dropped. */
void bulk_op_put(struct bulk_op *op);

void bulk_op_destroy(struct bulk_op *op);

/* Starts a transfer for the core itself, which needs no trigger. It checks
 * arguments and takes references as HG_Bulk_transfer.
 *
 * *pending_p: false: it has completed, with the returned code. true, with
 * HG_SUCCESS: progress calls done once, with the result, under its lock
 * (na/progress.h). done may submit operations and queue completions, but runs
 * no user code. Another thread may call it before this returns.
 *
 * id_p: set before done can be called; may be NULL. HG_Bulk_cancel takes the
 * progress lock: use bulk_transfer_cancel under it. [any thread] */
hg_return_t bulk_transfer_internal(struct bulk_context *context,
    const struct bulk_request *request,
    void (*done)(void *arg, hg_return_t ret), void *arg, hg_op_id_t *id_p,
    bool *pending_p);

/* HG_Bulk_cancel for a caller that holds the progress lock. */
void bulk_transfer_cancel(hg_op_id_t id);

/* Ends a transfer of the core without calling done, after the contexts of its
 * transport were closed. */
void bulk_transfer_discard(hg_op_id_t id);

/* Completes a transfer with an error if it is in progress on a dead context.
 * The progress lock is held. */
void bulk_transfer_fail(struct bulk_op *op);

/* Completes all transfers on a dead context with an error. The progress lock is
 * held. */
void bulk_context_fail(
    struct bulk_context *context, struct na_context *na_context);

/* The table of ids. add: NOMEM if it is full. begin makes the id of a transfer
 * valid, end invalid: when it returns, no cancel is using the transfer. */
hg_return_t bulk_op_table_add(struct bulk_op *op);
void bulk_op_table_remove(struct bulk_op *op);
hg_op_id_t bulk_op_table_begin(struct bulk_op *op);
void bulk_op_table_end(struct bulk_op *op);

/* Returns the transfer of an id if it is in progress, else NULL. It must not
 * complete meanwhile. */
struct bulk_op *bulk_op_table_find(hg_op_id_t id);

/* Calls cancel under the progress lock with the transfer of an id, if it is in
 * progress. */
void bulk_op_table_cancel(hg_op_id_t id, void (*cancel)(struct bulk_op *op));

/* bulk_op_table_cancel for a caller that holds the progress lock. */
void bulk_op_table_cancel_locked(
    hg_op_id_t id, void (*cancel)(struct bulk_op *op));

#endif /* BULK_OP_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps of a workload. Each may be repeated, returns its result, and leaves
 * nothing behind. */
#ifndef WORKLOAD_INTERNAL_H
#define WORKLOAD_INTERNAL_H

#include "mercury_macros.h"
#include "rpcs.h"
#include "workload.h"

struct workload {
    const struct workload_rule *rule;
    hg_class_t *target_class;
    hg_class_t *origin_class;
    hg_context_t *target;
    hg_context_t *origin;
    hg_addr_t peer;
    hg_id_t echo_id, move_id, hold_id;
    char address[600]; /* the target's address */
    /* Operations that were accepted, and callbacks that have run. */
    unsigned accepted;
    unsigned called;
};

extern struct workload *workload_current;

/* One operation: workload_accepted after a successful submission, workload_called in
 * its callback. */
struct workload_op {
    unsigned called;
    hg_return_t ret;
};
hg_return_t workload_accepted(hg_return_t ret);
hg_return_t workload_called(const struct hg_cb_info *info);

/* Progresses and triggers both sides once. */
void workload_step(unsigned timeout_ms);

/* Waits for the operation's callback. Cancels the handle or transfer if it does
 * not end, which is allowed only after a line in the log. */
hg_return_t workload_wait(
    struct workload_op *op, hg_handle_t handle, hg_op_id_t transfer);

/* Responds, and retries once if the injected failure hit it. The caller still
 * has to destroy the handle. */
void workload_respond(hg_handle_t handle, void *out);

/* workload_bulk.c */
hg_id_t workload_register_move(hg_class_t *hg_class);
hg_return_t workload_move_small(void);
hg_return_t workload_move_large(void);
hg_return_t workload_move_allocated(void);
bool workload_moving(void);

#endif /* WORKLOAD_INTERNAL_H */

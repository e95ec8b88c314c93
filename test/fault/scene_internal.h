/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of a scene. Each may be done again; each says how it ended and
 * leaves nothing of itself. */
#ifndef SCENE_INTERNAL_H
#define SCENE_INTERNAL_H

#include "mercury_macros.h"
#include "rpcs.h"
#include "scene.h"

struct scene {
    const struct scene_rule *rule;
    hg_class_t *target_class;
    hg_class_t *origin_class;
    hg_context_t *target;
    hg_context_t *origin;
    hg_addr_t peer;
    hg_id_t echo_id, move_id, hold_id;
    char address[600]; /* the target's */
    /* Of operations that were accepted, and their callbacks. */
    unsigned accepted;
    unsigned called;
};

extern struct scene *scene_current;

/* One operation of the scene: accepted says so, called is for its callback. */
struct scene_op {
    unsigned called;
    hg_return_t ret;
};
hg_return_t scene_accepted(hg_return_t ret);
hg_return_t scene_called(const struct hg_cb_info *info);

/* Progresses and triggers both sides once. */
void scene_step(unsigned timeout_ms);

/* Until the operation's callback has run. One that does not end is cancelled:
 * handle, or transfer. Only after a line in the log may it need that. */
hg_return_t scene_wait(
    struct scene_op *op, hg_handle_t handle, hg_op_id_t transfer);

/* An answer that must not get lost by the one failure. The handle remains to be
 * destroyed. */
void scene_respond(hg_handle_t handle, void *out);

/* scene_bulk.c */
hg_id_t scene_register_move(hg_class_t *hg_class);
hg_return_t scene_move_small(void);
hg_return_t scene_move_large(void);
hg_return_t scene_move_allocated(void);
bool scene_moving(void);

#endif /* SCENE_INTERNAL_H */

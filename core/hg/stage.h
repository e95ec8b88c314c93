/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stages of a call as they are observed: counted, by classes with
 * statistics, and logged with the call's id, at level DEBUG. Callers have asked
 * hg_class_is_observed before, or the note OBSERVED of a call.
 */
#ifndef HG_STAGE_H
#define HG_STAGE_H

#include "mercury_types.h"

struct hg_handle;

/* A forward begins; its answer has arrived; it has ended, with what its handle
 * says. */
void hg_stage_forward(struct hg_handle *handle);
void hg_stage_answer(struct hg_handle *handle);
void hg_stage_forwarded(struct hg_handle *handle);

/* A request has arrived; its handler is about to run; it is answered, before the
 * answer is sent; the answer could not be sent, and does not count; it is
 * dropped without an answer; its handle is free again. */
void hg_stage_received(struct hg_handle *handle);
void hg_stage_handler(const struct hg_handle *handle);
void hg_stage_respond(struct hg_handle *handle, hg_return_t result);
void hg_stage_not_responded(struct hg_handle *handle, hg_return_t ret);
void hg_stage_dropped(struct hg_handle *handle);
void hg_stage_released(struct hg_handle *handle);

/* A forward has ended and its callback has not run yet: stops its timer and
 * observes it, as the notes of its call say. */
void hg_forward_noted(struct hg_handle *handle);

#endif /* HG_STAGE_H */

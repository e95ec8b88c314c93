/* SPDX-License-Identifier: BSD-3-Clause */
/* The observed stages of a call: counted in classes with statistics, and logged
 * with the call's id at level DEBUG. Callers check hg_class_is_observed before,
 * or the flag OBSERVED of a call. */
#ifndef HG_STAGE_H
#define HG_STAGE_H

#include "mercury_types.h"

struct hg_handle;

/* Origin: a forward begins; its response has arrived; it has ended with the
 * result in its handle. */
void hg_stage_forward(struct hg_handle *handle);
void hg_stage_answer(struct hg_handle *handle);
void hg_stage_forwarded(struct hg_handle *handle);

/* Target: a request has arrived; its handler is about to run; the response is
 * about to be sent; it could not be sent, and is not counted; the request was
 * dropped; the handle is free again. */
void hg_stage_received(struct hg_handle *handle);
void hg_stage_handler(const struct hg_handle *handle);
void hg_stage_respond(struct hg_handle *handle, hg_return_t result);
void hg_stage_not_responded(struct hg_handle *handle, hg_return_t ret);
void hg_stage_dropped(struct hg_handle *handle);
void hg_stage_released(struct hg_handle *handle);

/* A forward has ended and its callback has not run yet: stops the timer and
 * observes the end, as the flags of its call say. */
void hg_forward_noted(struct hg_handle *handle);

#endif /* HG_STAGE_H */

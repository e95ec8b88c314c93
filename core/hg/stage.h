/* SPDX-License-Identifier: BSD-3-Clause */
/* The observed stages of a call: counted in classes with statistics, logged
 * with the call's id at level DEBUG, probes for tracers, and reported to
 * libtalaria-watch. A call is observed as a whole: the caller of the first stage
 * of a side checks base_is_observed, those of the others the flag OBSERVED of
 * the call. Failures are also reported of calls that are not observed. */
#ifndef HG_STAGE_H
#define HG_STAGE_H

#include "mercury_types.h"

struct hg_handle;

enum hg_stage {
    HG_STAGE_FORWARD,
    HG_STAGE_ANSWER,
    HG_STAGE_FORWARDED,
    HG_STAGE_RECEIVED,
    HG_STAGE_HANDLER,
    HG_STAGE_RESPOND,
    HG_STAGE_NOT_RESPONDED,
    HG_STAGE_DROPPED,
    HG_STAGE_RELEASED,
    HG_STAGE_MAX
};

/* Origin: a forward begins; its response has arrived; it has ended with the
 * result in its handle. */
void hg_stage_forward(struct hg_handle *handle);
void hg_stage_answer(struct hg_handle *handle);
void hg_stage_forwarded(struct hg_handle *handle);

/* Target: a request has arrived; its handler is about to run; the response is
 * about to be sent; it could not be sent, and is not counted; the request was
 * dropped; the handle is free again. */
void hg_stage_received(struct hg_handle *handle);
void hg_stage_handler(struct hg_handle *handle);
void hg_stage_respond(struct hg_handle *handle, hg_return_t result);
void hg_stage_not_responded(struct hg_handle *handle, hg_return_t ret);
void hg_stage_dropped(struct hg_handle *handle);
void hg_stage_released(struct hg_handle *handle);

/* A forward has ended and its callback has not run yet: stops the timer, and
 * observes the end of an observed call or of one that failed. */
void hg_forward_noted(struct hg_handle *handle);

#endif /* HG_STAGE_H */

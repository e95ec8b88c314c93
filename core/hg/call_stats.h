/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each stage of a call counts, for a class with statistics. Callers have
 * asked hg_class.bulk.stats before, or the note COUNTED of a call.
 */
#ifndef HG_CALL_STATS_H
#define HG_CALL_STATS_H

#include "mercury_types.h"

struct hg_handle;

/* A forward begins; has ended, with what its handle says. */
void hg_stats_forward(struct hg_handle *handle);
void hg_stats_forwarded(struct hg_handle *handle);

/* A request is taken over; it is answered, before that is sent; the answer
 * could not be sent, so that it is none; it is not answered; its handle is free
 * again. */
void hg_stats_received(struct hg_handle *handle);
void hg_stats_respond(struct hg_handle *handle, hg_return_t result);
void hg_stats_not_responded(struct hg_handle *handle, hg_return_t ret);
void hg_stats_dropped(struct hg_handle *handle);
void hg_stats_released(struct hg_handle *handle);

/* A forward is over, and its callback not run yet: stops its timer and counts it,
 * as the notes of its call say. */
void hg_forward_noted(struct hg_handle *handle);

#endif /* HG_CALL_STATS_H */

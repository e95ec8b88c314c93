/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting the calls of the process for its page. */
#ifndef WATCH_COUNT_H
#define WATCH_COUNT_H

#include "watch/page.h"

#include <stdbool.h>

struct bulk_op;
struct hg_handle;

/* Returns false if out of memory. */
bool watch_count_init(void);

/* Counts a stage, or a transfer. Returns true if it is the first one of a call
 * or a transfer. Callers exclude one another, as of the functions below. */
bool watch_count_stage(const struct hg_handle *handle, int stage, int ret);
bool watch_count_bulk(const struct bulk_op *op);

/* Adds what was counted to the totals. factor: what each call stands for. */
void watch_count_fold(double factor);

/* Copies the totals. */
void watch_count_copy(struct watch_body *body);

#endif /* WATCH_COUNT_H */

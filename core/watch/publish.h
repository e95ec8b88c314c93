/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of the process, and the thread that fills it while a reader looks. */
#ifndef WATCH_PUBLISH_H
#define WATCH_PUBLISH_H

#include <stdbool.h>

struct bulk_op;
struct hg_handle;

/* Creates the page. Returns false with errno set. */
bool watch_publish_init(void);

/* The hooks. [any thread] */
void watch_publish_stage(const struct hg_handle *handle, int stage, int ret);
void watch_publish_bulk(const struct bulk_op *op);

/* What the thread does: fills the page until no reader looks any more. */
void watch_publish_run(void);

/* Waits until a reader looks, or for so many milliseconds; 0: forever. Returns
 * whether a reader looks. */
bool watch_publish_wait(unsigned timeout_ms);

/* Before and after fork. In the child the process does not publish. */
void watch_publish_lock(void);
void watch_publish_unlock(void);
void watch_publish_forked(void);

#endif /* WATCH_PUBLISH_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* The stages of calls in the trace-event format of Chrome and Perfetto. */
#ifndef WATCH_TRACE_H
#define WATCH_TRACE_H

#include <stdbool.h>

struct hg_handle;

/* Opens the file; "%p" in the path is the process's id, "%%" a percent sign.
 * Returns false with a reason. */
bool watch_trace_open(const char *path, char *reason, unsigned reason_size);

/* The hook. [any thread] */
void watch_trace_stage(struct hg_handle *handle, int stage, int ret);

/* Writes what is buffered. */
void watch_trace_flush(void);
/* The same, and ends the file if no other process writes to it. */
void watch_trace_close(void);

/* Before and after fork. In the child the process does not trace. */
void watch_trace_lock(void);
void watch_trace_unlock(void);

#endif /* WATCH_TRACE_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* put: small files, many in one request. */
#ifndef COPY_SMALL_H
#define COPY_SMALL_H

#include "copy/pipe.h"

/* Reads the small files at the beginning of the queue, as many as fit in the
 * slot's memory, and sends them in one request. replace: existing files are
 * replaced. BATCH: sent. DONE: all of them have failed. NONE: the queue begins
 * with something else. */
enum copy_step copy_small_send(
    struct copy_pipe *pipe, struct copy_slot *slot, bool replace);

#endif /* COPY_SMALL_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* The local file of an item of put. */
#ifndef COPY_SOURCE_H
#define COPY_SOURCE_H

#include "copy/pipe.h"

/* Opens item->fd and sets size, mode and time. Returns 0 or an errno value;
 * ESTALE: it is not a regular file any more. */
int copy_source_open(struct copy_item *item);

/* Whether the file was written to since it was opened: what was read of it may
 * have mixed contents. */
bool copy_source_changed(const struct copy_item *item);

#endif /* COPY_SOURCE_H */

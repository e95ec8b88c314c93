/* SPDX-License-Identifier: BSD-3-Clause */
/* Store requests at the server, when their memory has been pulled. */
#ifndef COPY_STORE_H
#define COPY_STORE_H

#include "copy/server.h"

/* Makes the `count` files of a batch of `size` bytes. replace: existing files
 * are replaced. results_p: gets a status for each file if this returns COPY_OK;
 * otherwise, COPY_INVALID or COPY_NO_MEMORY, no file was made. Blocks as long as
 * the file system does. */
enum copy_status copy_store_files(const struct copy_server *server,
    void *memory, size_t size, uint32_t count, bool replace,
    copy_results_t *results_p);

#endif /* COPY_STORE_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for what libfabric is working on. It is kept until the class is closed, as a
 * provider may write about something that is long over. */
#ifndef OFI_POOL_H
#define OFI_POOL_H

#include <stddef.h>
#include <sys/mman.h>

#include "types.h"

/* A piece of a registered message memory, of room bytes; NULL: no memory. */
struct ofi_tx *ofi_pool_tx(struct ofi_endpoint *ep, uint32_t room);
void ofi_pool_tx_free(struct ofi_tx *tx);

struct ofi_job *ofi_pool_job(struct ofi_endpoint *ep);
struct ofi_fragment *ofi_pool_fragment(struct ofi_endpoint *ep);

void ofi_pool_fini(struct ofi_endpoint *ep);

/* Bytes of both. */
uint64_t ofi_pool_bytes(const struct ofi_endpoint *ep);

/* Zeroed memory; NULL: none. */
static inline void *
ofi_pages_new(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static inline void
ofi_pages_free(void *memory, size_t bytes)
{
    if (memory != NULL)
        munmap(memory, bytes);
}

#endif /* OFI_POOL_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* libfabric's objects of a class: opened in order, closed in reverse. */
#ifndef OFI_FABRIC_H
#define OFI_FABRIC_H

#include "types.h"

/* Opens all of them for cls->info, and finds out the class's own name. A code,
 * with a line at level ERROR; ofi_fabric_close takes back what there is. */
int32_t ofi_fabric_open(struct ofi_endpoint *ep);

/* The endpoint first, so that buffers are free; then the rest. */
void ofi_fabric_close_endpoint(struct ofi_endpoint *ep);
void ofi_fabric_close(struct ofi_endpoint *ep);

/* What a class was opened with, but for its port; ofi_library.freeinfo. NULL: no
 * memory. */
struct fi_info *ofi_fabric_any_port(const struct ofi_endpoint *ep);

/* Opens one more endpoint, for puts and gets. A code, with a line. [lock] */
int32_t ofi_fabric_rma_endpoint(struct ofi_endpoint *ep, struct fid_ep **fep_p);

/* Registers memory of the plugin's own. A code, with a line. */
int32_t ofi_fabric_register(struct ofi_endpoint *ep, void *memory,
    size_t length, uint64_t access, struct fid_mr **mr_p);

/* Registers what the attributes describe, with a random key of as many bits as
 * the provider takes, unless the provider chooses it: anyone with a key can use
 * it, as providers check nothing else of a peer. Binds it to the target of puts
 * and gets if the provider requires that. Returns libfabric's result. Any
 * thread that may register. */
int ofi_fabric_register_attr(
    struct ofi_endpoint *ep, struct fi_mr_attr *attr, struct fid_mr **mr_p);

/* Whether there is nothing to read, so that the descriptor becomes readable for
 * the next completion. [lock] */
bool ofi_waitset_try(struct ofi_endpoint *ep);

#endif /* OFI_FABRIC_H */

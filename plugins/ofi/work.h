/* SPDX-License-Identifier: BSD-3-Clause */
/* What libfabric works on. */
#ifndef OFI_WORK_H
#define OFI_WORK_H

#include <rdma/fabric.h>
#include <rdma/fi_eq.h>

#include "types.h"

/* Takes a completion of what was handed to libfabric; error is positive, or 0.
 * [lock] */
typedef void ofi_work_done(struct ofi_endpoint *ep, struct ofi_work *work,
    const struct fi_cq_data_entry *entry, int error);

/* What is handed to libfabric begins with this; completions lead back to it. */
struct ofi_work {
    struct fi_context2 fi; /* the provider's, and first */
    ofi_work_done *done;
};

#endif /* OFI_WORK_H */

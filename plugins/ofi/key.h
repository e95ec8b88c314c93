/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys of registrations. Whoever knows one can use it, as providers check
 * nothing else of a peer: so none may be found by knowing another. */
#ifndef OFI_KEY_H
#define OFI_KEY_H

#include "types.h"

/* Registers what the attributes describe, with a random key of as many bits as
 * the provider takes, unless the provider chooses it; binds it to the target of
 * puts and gets if the provider wants that. What libfabric returns. Any thread
 * that may register. */
int ofi_key_register(
    struct ofi_endpoint *ep, struct fi_mr_attr *attr, struct fid_mr **mr_p);

#endif /* OFI_KEY_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints in shared memory that cannot be closed yet; and those that a wait
 * object does not forget. */
#ifndef OFI_RETIRE_H
#define OFI_RETIRE_H

#include "ofi.h"

/* Waits, for at most a second, until peers within the node have taken all that
 * the class handed over, with or without puts and gets: whether they have. True
 * at once over what is not of the node. */
bool ofi_retire_settle(na_plugin_class *cls, bool rma);

/* Asks all peers, at the next look, whether they have taken all that was handed
 * over until then; whether they have, or are dead. [lock] */
void ofi_retire_ask(na_plugin_class *cls);
bool ofi_retire_answered(na_plugin_class *cls);

/* Closes an endpoint of the class; or, when peers are not through with it, keeps
 * it until they are, or the class is closed. If the wait object does not forget
 * one that is closed, the class naps from now on. [lock] */
void ofi_retire_endpoint(na_plugin_class *cls, struct fid_ep *ep, bool settled);

/* Closes those that were kept, when all peers have taken all since. Must be called
 * now and then while there are some. [lock] */
void ofi_retire_work(na_plugin_class *cls);

/* Closes those that were kept; or takes all of libfabric's objects from the
 * class, which stay as long as the process. */
void ofi_retire_class(na_plugin_class *cls, bool settled);

#endif /* OFI_RETIRE_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets that libfabric's shm will never end, or ends without a word of
 * which it was. */
#ifndef OFI_LOST_H
#define OFI_LOST_H

#include "ofi.h"

/* libfabric has a fragment, which its job knows; is done with it. [lock] */
void ofi_lost_begun(na_plugin_class *cls, struct ofi_fragment *fragment);
void ofi_lost_done(na_plugin_class *cls, struct ofi_fragment *fragment);

/* A context goes, its fragments stay. [lock] */
void ofi_lost_abandon(na_plugin_ctx *ctx);

/* A peer is lost that may be dead, and libfabric has fragments for it. [lock] */
void ofi_lost_note(na_plugin_class *cls);

/* Ends those for the dead, and those that were refused: the endpoints that wait
 * for them are replaced. Must be called as long as class.lost is set. [lock] */
void ofi_lost_work(na_plugin_class *cls);

/* The fragment that an error without a context is of; NULL: of none. [lock] */
struct ofi_fragment *ofi_lost_failed(na_plugin_class *cls, uint64_t flags);

#endif /* OFI_LOST_H */

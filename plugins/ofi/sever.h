/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets that end at once, whatever their peers do: the connections of
 * their endpoint are shut down. */
#ifndef OFI_SEVER_H
#define OFI_SEVER_H

#include "ofi.h"

/* Opens an endpoint for puts and gets, and learns by which sets of descriptors
 * its connections are found. [lock] */
int32_t ofi_sever_open(
    na_plugin_class *cls, struct fid_ep **ep_p, struct ofi_sets *sets);

/* Whether an endpoint of the class must not be closed with gets under way. */
bool ofi_sever_wanted(const na_plugin_class *cls);

/* Before an endpoint is closed that has something under way: ends it, or gives it
 * a moment to end, and takes from libfabric all that was handed over for contexts
 * that have gone. [lock] */
void ofi_sever_endpoint(na_plugin_class *cls, const struct ofi_sets *sets);

#endif /* OFI_SEVER_H */

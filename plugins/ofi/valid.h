/* SPDX-License-Identifier: BSD-3-Clause */
/* Which registrations are there. libfabric's shm drops a put or get that its
 * owner refuses, keeps what it took for it, and tells nobody. So nothing is
 * handed to it that would be refused: each class of the node has a table of its
 * registrations in memory that its peers may read. */
#ifndef OFI_VALID_H
#define OFI_VALID_H

#include "ofi.h"

/* Opens the class's table; without one, peers do not ask. */
void ofi_valid_init(na_plugin_class *cls);
void ofi_valid_fini(na_plugin_class *cls);

/* Of a registration as it is described, for the class's peers to compare. */
uint64_t ofi_valid_digest(const na_plugin_class *cls, const na_plugin_mem *mem);

/* Gives a registration its number, and enters it. [memory_lock] */
void ofi_valid_enter(na_plugin_class *cls, na_plugin_mem *mem);

/* Strikes a registration out [memory_lock]; then takes what peers had begun with
 * it [no lock]. */
void ofi_valid_strike(na_plugin_class *cls, const na_plugin_mem *mem);
void ofi_valid_settle(na_plugin_class *cls);

/* Whether a description is of memory that is registered at its owner now; true
 * as well where that cannot be seen. [lock] */
bool ofi_valid_check(
    na_plugin_class *cls, na_plugin_addr *peer, const na_plugin_mem *described);

/* Leaves a peer's table. */
void ofi_valid_leave(na_plugin_addr *peer);

#endif /* OFI_VALID_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections that nobody speaks on. libfabric accepts whoever connects to a TCP
 * port, and waits for its first bytes without end: each holds a descriptor, and
 * when there are no more, nobody else is accepted. */
#ifndef OFI_SILENT_H
#define OFI_SILENT_H

#include "ofi.h"

/* What this needs of descriptors is taken now, as there may be none later. */
void ofi_silent_init(na_plugin_class *cls);
void ofi_silent_fini(na_plugin_class *cls);

/* Shuts down connections to the class's port on which nothing has arrived since
 * they were accepted, for the time of ofi.silent_timeout; libfabric closes them
 * then. Looks at the clock, and rarely does more. [lock] */
void ofi_silent_look(na_plugin_class *cls);

/* The same for each poll: does nothing most of the times. [lock] */
static inline void
ofi_silent_work(na_plugin_class *cls)
{
    if (cls->silent_folder >= 0 && ++cls->silent_polls >= 1024) {
        cls->silent_polls = 0;
        ofi_silent_look(cls);
    }
}

/* For how long nobody has to look, in nanoseconds; UINT64_MAX: for good. */
uint64_t ofi_silent_sleep(const na_plugin_class *cls);

#endif /* OFI_SILENT_H */

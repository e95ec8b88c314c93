/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared segments: memory of na.mem_alloc/1. A peer of the same user that has been
 * given a registration of a whole segment maps it, for reading, or for writing
 * where the registration permits that too, and then copies without the kernel:
 * mapping.h. */
#ifndef SM_SHARED_H
#define SM_SHARED_H

#include "class.h"
#include "registration.h"

extern const na_plugin_mem_alloc sm_mem_alloc;

/* Frees all; how many were left. */
uint32_t sm_shared_fini(na_plugin_class *cls);

/* A registration that lies in one segment notes that, and keeps it; lets it
 * go. [memory] */
void sm_shared_join(na_plugin_class *cls, na_plugin_mem *mem);
void sm_shared_leave(na_plugin_class *cls, const na_plugin_mem *mem);

/* The same for a copy, which the registration may not outlive. NULL: it lies in no
 * segment. [memory] */
struct sm_shared *sm_shared_hold(const na_plugin_mem *mem);
void sm_shared_release(na_plugin_class *cls, struct sm_shared *shared);

/* A descriptor by which the segment can be mapped for no more than access, -1
 * without one; the caller's to close. */
int sm_shared_open(const struct sm_shared *shared, uint32_t access);

#endif /* SM_SHARED_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations: made, found, checked, as bytes. */
#ifndef SM_MEM_H
#define SM_MEM_H

#include "class.h"
#include "registration.h"

/* Makes the registry. */
void sm_mem_init(na_plugin_class *cls);

/* Frees all registrations; how many were left. */
uint32_t sm_mem_fini(na_plugin_class *cls);

/* The own registration with this id, NULL if there is none. [memory] */
const na_plugin_mem *sm_mem_find(const na_plugin_class *cls, uint64_t id);

/* Whether a descriptor says what a registration of this class is; true: it stays
 * so until sm_mem_release. */
bool sm_mem_hold(na_plugin_class *cls, const na_plugin_mem *mem);
void sm_mem_release(na_plugin_class *cls);

/* Copies for a peer that may not do it itself: from or to the registration with
 * this id, if that permits it and is long enough; write: to it. INVALID_ARG,
 * PERMISSION. [any thread] */
int32_t sm_mem_copy(na_plugin_class *cls, uint64_t id, uint64_t offset,
    void *buffer, uint32_t length, bool write);

/* Functions of the ABI. */
int32_t sm_mem_register(na_plugin_class *cls, const na_plugin_mem_info *info,
    na_plugin_mem **mem_p);
void sm_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem);
int32_t sm_mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem,
    void *buffer, uint64_t *size_p);
int32_t sm_mem_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_mem **mem_p);
void sm_mem_free(na_plugin_class *cls, na_plugin_mem *mem);

#endif /* SM_MEM_H */

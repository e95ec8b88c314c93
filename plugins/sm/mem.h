/* SPDX-License-Identifier: BSD-3-Clause */
/* Registered memory: segments that make up one range, here or at a peer. */
#ifndef SM_MEM_H
#define SM_MEM_H

#include "registration.h"
#include "sm.h"

/* The table of a class. NOMEM. */
int32_t sm_mem_init(na_plugin_class *cls);

/* Frees it with what is in it; how many registrations were left. */
uint32_t sm_mem_fini(na_plugin_class *cls);

/* Whether bytes that claim to be a registration of this class are one. */
bool sm_mem_genuine(na_plugin_class *cls, const na_plugin_mem *mem);

/* The same; true: it stays so until sm_mem_let_go. */
bool sm_mem_hold(na_plugin_class *cls, const na_plugin_mem *mem);
void sm_mem_let_go(na_plugin_class *cls);

/* Copies for a peer that may not do it itself: between its bytes and the
 * registration with this key, if there is one that permits it and is long
 * enough. INVALID_ARG, PERMISSION. [any thread] */
int32_t sm_mem_read(na_plugin_class *cls, uint64_t id, uint64_t offset,
    void *to, uint32_t length);
int32_t sm_mem_write(na_plugin_class *cls, uint64_t id, uint64_t offset,
    const void *from, uint32_t length);

/* The own registration with this key, NULL if there is none. [memory] */
const na_plugin_mem *sm_mem_find(na_plugin_class *cls, uint64_t id);

/* The same between bytes and a range that is known to be there. */
void sm_mem_gather(
    const na_plugin_mem *mem, uint64_t offset, void *to, uint64_t length);
void sm_mem_scatter(const na_plugin_mem *mem, uint64_t offset, const void *from,
    uint64_t length);

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

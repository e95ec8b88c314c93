/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations of the sm plugin's tests, and transfers between them. */
#ifndef REGISTRATION_H
#define REGISTRATION_H

#include "harness.h"

/* A serialized registration. */
struct form {
    unsigned char bytes[256];
    uint64_t size;
};

/* Registers memory with access (NA_PLUGIN_MEM_*); asserts success. */
na_plugin_mem *register_region(
    struct node *node, void *base, uint64_t length, uint32_t access);

/* Serializes a registration; asserts success. */
struct form form_of(struct node *node, const na_plugin_mem *mem);

/* Deserializes it; asserts success. */
na_plugin_mem *unpack(struct node *node, const struct form *form);

/* Puts, or gets, the first length bytes in context 0 and waits. Returns the
 * status. */
int32_t transfer(struct node *node, bool put, na_plugin_mem *local,
    na_plugin_mem *remote, uint64_t length, na_plugin_addr *peer);

#endif /* REGISTRATION_H */

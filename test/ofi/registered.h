/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations with their serialized forms, which tests alter; and the
 * providers over which they do so. */
#ifndef REGISTERED_H
#define REGISTERED_H

#include "pair.h"

#define LENGTH 4096U /* bytes of each registration */
#define BOTH (NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE)

/* Offsets in a serialized registration. */
#define AT_ACCESS 1U
#define AT_SEGMENT 24U
#define AT_KEY (AT_SEGMENT + 16U)
#define AT_READ 48U /* of one segment: the byte for put visibility */

#define PROVIDERS 8
#define FORGED 4  /* the first ones: the owner reports refusals */
#define STRANGE 3 /* the first ones: over TCP */

/* A registration of a node, and its serialized form. */
struct registered {
    unsigned char bytes[LENGTH];
    na_plugin_mem *mem;
    unsigned char description[256];
    uint64_t size;
};

/* Returns the options for a provider by index. Sets its variables, if it is the
 * awkward one. */
struct node_options provider_options(int provider);

/* Bits of its keys. */
uint32_t provider_key_bits(int provider);

/* Whether the options are for shm and opening it is refused. Prints that cases
 * are skipped. */
bool is_refused_shm(const struct node_options *options);

/* Fills memory->bytes by seed, registers and serializes them. */
void registered_add(struct node *node, struct registered *memory,
    uint32_t access, uint32_t seed);
void registered_remove(struct node *node, struct registered *memory);

/* The key in the serialized form. */
uint64_t key_of(const struct registered *memory);

/* A number of 8 bytes in a serialized form. */
uint64_t read64(const unsigned char *bytes);
void write64(unsigned char *bytes, uint64_t value);

/* a's remote memory for these bytes. */
na_plugin_mem *pair_deserialize(
    struct pair *pair, const unsigned char *bytes, uint64_t size);

#endif /* REGISTERED_H */

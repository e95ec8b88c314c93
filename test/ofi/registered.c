/* SPDX-License-Identifier: BSD-3-Clause */
#include "registered.h"

#include <string.h>

static const struct {
    const char *protocol;
    const char *key_bytes;
    uint32_t bits;
} providers[PROVIDERS] = {
    {"tcp", NULL, 64},
    {"tcp;ofi_rxm", NULL, 64},
    {"sockets", NULL, 64},
    {"shm", NULL, 64},
    {"udp", NULL, 64},
    {"awkward", "8", 64},
    {"awkward", "4", 32},
    {"awkward", "2", 16},
};

uint64_t
read64(const unsigned char *bytes)
{
    uint64_t value = 0;

    for (uint32_t i = 0; i < 8; i++)
        value |= (uint64_t) bytes[i] << 8 * i;
    return value;
}

void
write64(unsigned char *bytes, uint64_t value)
{
    for (uint32_t i = 0; i < 8; i++)
        bytes[i] = (unsigned char) (value >> 8 * i);
}

uint64_t
key_of(const struct registered *memory)
{
    return read64(memory->description + AT_KEY);
}

void
registered_add(struct node *node, struct registered *memory, uint32_t access,
    uint32_t seed)
{
    const na_plugin_segment segment = {memory->bytes, LENGTH};

    fill(memory->bytes, LENGTH, seed);
    ck_assert_int_eq(node->ops->mem_register(node->cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, access, 0, 0},
                         &memory->mem),
        NA_PLUGIN_OK);
    memory->size = sizeof(memory->description);
    ck_assert_int_eq(node->ops->mem_serialize(node->cls, memory->mem,
                         memory->description, &memory->size),
        NA_PLUGIN_OK);
}

void
registered_remove(struct node *node, struct registered *memory)
{
    node->ops->mem_deregister(node->cls, memory->mem);
}

na_plugin_mem *
pair_deserialize(struct pair *pair, const unsigned char *bytes, uint64_t size)
{
    na_plugin_mem *description = NULL;

    ck_assert_int_eq(
        pair->a.ops->mem_deserialize(pair->a.cls, bytes, size, &description),
        NA_PLUGIN_OK);
    return description;
}

bool
is_refused_shm(const struct node_options *options)
{
    return strcmp(options->protocol, "shm") == 0 && is_refused(options);
}

struct node_options
provider_options(int provider)
{
    const char *protocol = providers[provider].protocol;
    bool named =
        strcmp(protocol, "shm") == 0 || strcmp(protocol, "awkward") == 0;

    if (providers[provider].key_bytes != NULL)
        awkward_set("KEY_BYTES", providers[provider].key_bytes);
    return (struct node_options){.protocol = protocol, .anywhere = named};
}

uint32_t
provider_key_bits(int provider)
{
    return providers[provider].bits;
}

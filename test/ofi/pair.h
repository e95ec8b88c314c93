/* SPDX-License-Identifier: BSD-3-Clause */
/* Two classes, over the awkward provider, which is as awkward as its settings in
 * the environment say, or another; messages, puts and gets between the two. */
#ifndef PAIR_H
#define PAIR_H

#include "harness.h"

#define DEADLINE_NS UINT64_C(20000000000)
#define FIRST 20000U /* bytes of segments */
#define MIDDLE 1U
#define LAST 90001U
#define TOTAL (FIRST + MIDDLE + LAST)

/* Two classes that know each other. */
struct pair {
    struct node a;
    struct node b;
    na_plugin_addr *to_a;
    na_plugin_addr *to_b;
    void *a_op;
    void *b_op;
};

/* Of the provider's settings: what follows FI_AWKWARD_, before a class opens. */
void awkward_set(const char *name, const char *value);

/* Over what the options say; then over that provider, with one setting of the
 * plugin's; key NULL: without. */
void pair_open_as(struct pair *pair, const struct node_options *options);
void pair_open_with(struct pair *pair, const char *key, const char *value);
void pair_open(struct pair *pair);
void pair_close(struct pair *pair);

/* Polls both until this operation of one of them has ended: its event. */
na_plugin_event pair_await(
    struct pair *pair, struct node *whose, const void *op);

/* A pattern of bytes, which differs with the seed. */
void fill(unsigned char *bytes, size_t length, uint32_t seed);
bool is_filled(const unsigned char *bytes, size_t length, uint32_t seed);

/* One expected message from b to a: how it ended for the sender. One that does
 * not come is canceled at its receiver. */
int32_t pair_answer(struct pair *pair, uint32_t length, bool comes);

/* Three segments, out of order. */
struct memory {
    unsigned char bytes[TOTAL + 2];
    na_plugin_mem *mem;
};

void memory_register(struct node *node, struct memory *memory);

/* What a knows b's memory by. */
na_plugin_mem *pair_describe(struct pair *pair, const na_plugin_mem *mem);

/* A put or get of a's: how it ended. */
int32_t pair_transfer(struct pair *pair, na_plugin_mem *local,
    na_plugin_mem *remote, uint64_t offset, uint64_t length, bool put);

#endif /* PAIR_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Two classes over the awkward provider, whose behaviour is set by the
 * environment, or over another one; messages, puts and gets between them. */
#ifndef PAIR_H
#define PAIR_H

#include "harness.h"

#define DEADLINE_NS UINT64_C(20000000000)
#define FIRST 20000U /* total bytes of the segments */
#define MIDDLE 1U
#define LAST 90001U
#define TOTAL (FIRST + MIDDLE + LAST)

/* Two connected classes. */
struct pair {
    struct node a;
    struct node b;
    na_plugin_addr *to_a;
    na_plugin_addr *to_b;
    void *a_op;
    void *b_op;
};

/* Sets a variable of the provider, without its prefix FI_AWKWARD_. Before a
 * class is opened. */
void awkward_set(const char *name, const char *value);

/* Opens both with these options; or over that provider, with one setting of the
 * plugin. key NULL: none. */
void pair_open_as(struct pair *pair, const struct node_options *options);
void pair_open_with(struct pair *pair, const char *key, const char *value);
void pair_open(struct pair *pair);
void pair_close(struct pair *pair);

/* Polls both until this operation of one of them has ended. Returns its
 * event. */
na_plugin_event pair_await(
    struct pair *pair, struct node *whose, const void *op);

/* A byte pattern that depends on the seed. */
void fill(unsigned char *bytes, size_t length, uint32_t seed);
bool is_filled(const unsigned char *bytes, size_t length, uint32_t seed);

/* Sends one expected message from b to a. Returns the sender's status. Cancels
 * the receive of a message that does not arrive. */
int32_t pair_answer(struct pair *pair, uint32_t length, bool arrives);

/* Three segments, out of order. */
struct memory {
    unsigned char bytes[TOTAL + 2];
    na_plugin_mem *mem;
};

void memory_register(struct node *node, struct memory *memory);

/* a's remote memory for b's registration. */
na_plugin_mem *pair_describe(struct pair *pair, const na_plugin_mem *mem);

/* A put or get of a. Returns its status. */
int32_t pair_transfer(struct pair *pair, na_plugin_mem *local,
    na_plugin_mem *remote, uint64_t offset, uint64_t length, bool put);

#endif /* PAIR_H */

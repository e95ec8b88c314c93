/* SPDX-License-Identifier: BSD-3-Clause */
/* Two classes that exchange messages and data. */
#include "pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
awkward_set(const char *name, const char *value)
{
    char variable[64];

    snprintf(variable, sizeof(variable), "FI_AWKWARD_%s", name);
    setenv(variable, value, 1);
}

void
pair_open_as(struct pair *pair, const struct node_options *options)
{
    char text[TEXT];

    node_open(&pair->a, options);
    node_open(&pair->b, options);
    self_string(&pair->a, text);
    pair->to_a = lookup(&pair->b, text);
    self_string(&pair->b, text);
    pair->to_b = lookup(&pair->a, text);
    pair->a_op = op_new(&pair->a);
    pair->b_op = op_new(&pair->b);
}

void
pair_open_with(struct pair *pair, const char *key, const char *value)
{
    pair_open_as(pair, &(struct node_options){.protocol = "awkward",
                           .anywhere = true,
                           .setting_key = key,
                           .setting_value = value});
}

void
pair_open(struct pair *pair)
{
    pair_open_with(pair, NULL, NULL);
}

void
pair_close(struct pair *pair)
{
    pair->a.ops->addr_free(pair->a.cls, pair->to_b);
    pair->b.ops->addr_free(pair->b.cls, pair->to_a);
    ck_assert_uint_eq(pair->a.errors + pair->b.errors, 0);
    node_close(&pair->a);
    node_close(&pair->b);
    ck_assert_uint_eq(pair->a.left + pair->b.left, 0);
    free(pair->a_op);
    free(pair->b_op);
}

na_plugin_event
pair_await(struct pair *pair, struct node *whose, const void *op)
{
    struct node *other = whose == &pair->a ? &pair->b : &pair->a;
    uint64_t end = now_ns() + DEADLINE_NS;
    na_plugin_event event, stray;

    for (;;) {
        if (poll_one(whose, &event) && event.op == op)
            return event;
        ck_assert_msg(
            !poll_one(other, &stray), "an event without an operation");
        ck_assert_msg(now_ns() < end, "no end");
    }
}

void
fill(unsigned char *bytes, size_t length, uint32_t seed)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char) (seed + i * 7 + (i >> 8));
}

bool
is_filled(const unsigned char *bytes, size_t length, uint32_t seed)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != (unsigned char) (seed + i * 7 + (i >> 8)))
            return false;
    return true;
}

int32_t
pair_answer(struct pair *pair, uint32_t length, bool arrives)
{
    static unsigned char there[4096], here[4096];
    const na_plugin_ops *ops = pair->a.ops;
    uint64_t end = now_ns() + DEADLINE_NS;
    na_plugin_event sent, received;

    fill(there, length, length);
    ck_assert_int_eq(ops->recv_expected(pair->a.ctx, pair->a_op, here,
                         sizeof(here), NULL, pair->to_b, 0, length, 0),
        NA_PLUGIN_PENDING);
    sent.status = ops->send_expected(
        pair->b.ctx, pair->b_op, there, length, NULL, pair->to_a, 0, length, 0);
    ck_assert_int_ge(sent.status, 0);
    bool is_sent = sent.status == NA_PLUGIN_DONE, is_received = false;
    while (!is_sent || !is_received) {
        is_sent = is_sent || poll_one(&pair->b, &sent);
        if (is_sent && !arrives)
            ops->cancel(pair->a.ctx, pair->a_op);
        is_received = is_received || poll_one(&pair->a, &received);
        ck_assert_msg(now_ns() < end, "no answer");
    }
    if (arrives) {
        ck_assert_int_eq(received.status, NA_PLUGIN_OK);
        ck_assert_uint_eq(received.length, length);
        ck_assert(is_filled(here, length, length));
    } else
        ck_assert_int_lt(received.status, 0);
    return sent.status == NA_PLUGIN_DONE ? NA_PLUGIN_OK : sent.status;
}

void
memory_register(struct node *node, struct memory *memory)
{
    const na_plugin_segment segments[] = {{memory->bytes + LAST, FIRST},
        {memory->bytes + LAST + FIRST + 1, MIDDLE}, {memory->bytes, LAST}};

    ck_assert_int_eq(
        node->ops->mem_register(node->cls,
            &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0, segments, 3,
                NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, 0, 0},
            &memory->mem),
        NA_PLUGIN_OK);
}

na_plugin_mem *
pair_describe(struct pair *pair, const na_plugin_mem *mem)
{
    unsigned char bytes[256];
    uint64_t size = sizeof(bytes);
    na_plugin_mem *description = NULL;

    ck_assert_int_eq(pair->b.ops->mem_serialize(pair->b.cls, mem, bytes, &size),
        NA_PLUGIN_OK);
    ck_assert_int_eq(
        pair->a.ops->mem_deserialize(pair->a.cls, bytes, size, &description),
        NA_PLUGIN_OK);
    return description;
}

int32_t
pair_transfer(struct pair *pair, na_plugin_mem *local, na_plugin_mem *remote,
    uint64_t offset, uint64_t length, bool put)
{
    const na_plugin_ops *ops = pair->a.ops;
    int32_t ret = (put ? ops->put : ops->get)(pair->a.ctx, pair->a_op, local,
        offset, remote, offset, length, pair->to_b, 0, 0);

    if (ret != NA_PLUGIN_PENDING)
        return ret;
    return pair_await(pair, &pair->a, pair->a_op).status;
}

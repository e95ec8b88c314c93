/* SPDX-License-Identifier: BSD-3-Clause */
/* Two classes of the wire plugin in this process. */
#include "pair.h"

#include <stdlib.h>
#include <string.h>

struct rig a, b;
na_plugin_addr *to_b, *to_a;
struct rig_message one, two, three;

void
open_both(uint32_t contexts)
{
    char text[RIG_TEXT];

    rig_open(&a, NA_PLUGIN_OPEN_LISTEN, contexts);
    rig_open(&b, NA_PLUGIN_OPEN_LISTEN, contexts);
    rig_text(&b, text);
    to_b = rig_lookup(&a, text);
    rig_text(&a, text);
    to_a = rig_lookup(&b, text);
}

void
free_messages(void)
{
    free(one.op);
    free(two.op);
    free(three.op);
}

void
close_both(void)
{
    a.ops->addr_free(a.cls, to_b);
    b.ops->addr_free(b.cls, to_a);
    rig_close(&a);
    rig_close(&b);
    free_messages();
}

void
settle(struct rig *rig, struct rig_message *message, int32_t code)
{
    ck_assert_int_eq(
        rig_settle(rig, rig == &a ? &b : &a, message->op, code), 0);
}

void
check_message(const struct rig *rig, const struct rig_op *op, uint32_t event,
    const void *bytes, uint64_t length, uint64_t tag)
{
    uint64_t header = op->events[event].source
                          ? rig->opened.unexpected_header_size
                          : rig->opened.expected_header_size;

    ck_assert_uint_eq(op->events[event].length, header + length);
    ck_assert_uint_eq(op->events[event].tag, tag);
    ck_assert_mem_eq(rig_bytes(rig, op, event), bytes, length);
}

void
free_source(struct rig *rig, const struct rig_op *op, uint32_t event)
{
    rig->ops->addr_free(rig->cls, op->events[event].source);
}

void
talk(struct rig *from, struct rig *to, na_plugin_addr *peer,
    na_plugin_addr *back)
{
    static unsigned char bytes[8184];

    for (uint64_t length = 0; length <= 8184; length += 682) {
        for (uint64_t i = 0; i < length; i++)
            bytes[i] = (unsigned char) (i * 7 + length);
        ck_assert_int_eq(rig_post_expected(to, &two, back, length), 0);
        settle(from, &one,
            rig_send(from, &one, bytes, length, peer, length, true));
        ck_assert_int_eq(rig_await(to, from, two.op), 0);
        check_message(to, two.op, 0, bytes, length, length);
        if (length > 4080)
            continue;
        settle(from, &one,
            rig_send(from, &one, bytes, length, peer, length, false));
        rig_post(to, &two);
        ck_assert_int_eq(rig_await(to, from, two.op), 0);
        check_message(to, two.op, 0, bytes, length, length);
        ck_assert(to->ops->addr_equal(to->cls, two.op->events[0].source, back));
        free_source(to, two.op, 0);
    }
}

na_plugin_mem *
register_bytes(struct rig *rig, void *bytes, uint64_t length, uint32_t access)
{
    na_plugin_segment segment = {bytes, length};
    na_plugin_mem *mem;

    ck_assert_int_eq(rig->ops->mem_register(rig->cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, access, 0, 0},
                         &mem),
        0);
    return mem;
}

na_plugin_mem *
expose(struct rig *rig, const na_plugin_mem *mem, struct rig *to)
{
    unsigned char bytes[64];
    uint64_t size = sizeof bytes;
    na_plugin_mem *remote;

    ck_assert_int_eq(rig->ops->mem_serialize(rig->cls, mem, bytes, &size), 0);
    ck_assert_int_eq(
        to->ops->mem_deserialize(to->cls, bytes, size, &remote), 0);
    return remote;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Two classes of the wire plugin in this process. */
#include "pair.h"

#include <stdlib.h>
#include <string.h>

struct fixture a, b;
na_plugin_addr *to_b, *to_a;
struct fixture_message one, two, three;

void
open_both(uint32_t contexts)
{
    char text[FIXTURE_TEXT];

    fixture_open(&a, NA_PLUGIN_OPEN_LISTEN, contexts);
    fixture_open(&b, NA_PLUGIN_OPEN_LISTEN, contexts);
    fixture_text(&b, text);
    to_b = fixture_lookup(&a, text);
    fixture_text(&a, text);
    to_a = fixture_lookup(&b, text);
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
    fixture_close(&a);
    fixture_close(&b);
    free_messages();
}

void
settle(struct fixture *fixture, struct fixture_message *message, int32_t code)
{
    ck_assert_int_eq(
        fixture_settle(fixture, fixture == &a ? &b : &a, message->op, code), 0);
}

void
check_message(const struct fixture *fixture, const struct fixture_op *op,
    uint32_t event, const void *bytes, uint64_t length, uint64_t tag)
{
    uint64_t header = op->events[event].source
                          ? fixture->opened.unexpected_header_size
                          : fixture->opened.expected_header_size;

    ck_assert_uint_eq(op->events[event].length, header + length);
    ck_assert_uint_eq(op->events[event].tag, tag);
    ck_assert_mem_eq(fixture_bytes(fixture, op, event), bytes, length);
}

void
free_source(
    struct fixture *fixture, const struct fixture_op *op, uint32_t event)
{
    fixture->ops->addr_free(fixture->cls, op->events[event].source);
}

void
talk(struct fixture *from, struct fixture *to, na_plugin_addr *peer,
    na_plugin_addr *back)
{
    static unsigned char bytes[8184];

    for (uint64_t length = 0; length <= 8184; length += 682) {
        for (uint64_t i = 0; i < length; i++)
            bytes[i] = (unsigned char) (i * 7 + length);
        ck_assert_int_eq(fixture_post_expected(to, &two, back, length), 0);
        settle(from, &one,
            fixture_send(from, &one, bytes, length, peer, length, true));
        ck_assert_int_eq(fixture_await(to, from, two.op), 0);
        check_message(to, two.op, 0, bytes, length, length);
        if (length > 4080)
            continue;
        settle(from, &one,
            fixture_send(from, &one, bytes, length, peer, length, false));
        fixture_post(to, &two);
        ck_assert_int_eq(fixture_await(to, from, two.op), 0);
        check_message(to, two.op, 0, bytes, length, length);
        ck_assert(to->ops->addr_equal(to->cls, two.op->events[0].source, back));
        free_source(to, two.op, 0);
    }
}

na_plugin_mem *
register_bytes(
    struct fixture *fixture, void *bytes, uint64_t length, uint32_t access)
{
    na_plugin_segment segment = {bytes, length};
    na_plugin_mem *mem;

    ck_assert_int_eq(fixture->ops->mem_register(fixture->cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, access, 0, 0},
                         &mem),
        0);
    return mem;
}

na_plugin_mem *
expose(struct fixture *fixture, const na_plugin_mem *mem, struct fixture *to)
{
    unsigned char bytes[64];
    uint64_t size = sizeof bytes;
    na_plugin_mem *remote;

    ck_assert_int_eq(
        fixture->ops->mem_serialize(fixture->cls, mem, bytes, &size), 0);
    ck_assert_int_eq(
        to->ops->mem_deserialize(to->cls, bytes, size, &remote), 0);
    return remote;
}

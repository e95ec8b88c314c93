/* SPDX-License-Identifier: BSD-3-Clause */
/* The raw peer owns memory that a class gets from: whatever it answers, nothing
 * is written except the requested bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define ASKED 100U   /* bytes of the get */
#define LONG 100000U /* of one in two fragments */
#define PIECE FIXTURE_FRAGMENT
#define GUARD 4096U

/* The serialized registration that the raw peer invents, with the layout in
 * README.md: header, and one segment. */
static na_plugin_mem *
claim(struct side *side, uint64_t owner, uint64_t length)
{
    unsigned char serial[40] = {2, NA_PLUGIN_MEM_READ, 1};
    const uint64_t number = 5;
    const uint64_t base = 0x1000;
    na_plugin_mem *mem;

    memcpy(serial + 8, &owner, sizeof(owner));
    memcpy(serial + 16, &number, sizeof(number));
    memcpy(serial + 24, &base, sizeof(base));
    memcpy(serial + 32, &length, sizeof(length));
    ck_assert_int_eq(
        side->ops->mem_deserialize(side->cls, serial, sizeof(serial), &mem),
        NA_PLUGIN_OK);
    return mem;
}

/* Accepts the class's connection like a correct peer. */
static void
answer_call(struct raw_peer *raw, struct side *const *sides, uint64_t number)
{
    struct ucx_hello hello = raw_peer_hello();
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    hello.number = number;
    while (!raw->hello_received) {
        raw_peer_progress(raw, sides);
        ck_assert_uint_lt(now_ms(), until);
    }
    raw_peer_send_hello(raw, sides, raw->hello.token, &hello, sizeof(hello));
}

static const struct answer {
    const char *what;
    int32_t code; /* expected status of the get */
    uint8_t kind;
    uint64_t at;
    uint32_t length;
    uint32_t data;
    uint32_t before; /* LONG: valid bytes before it */
} answers[] = {
    {"a sound answer", NA_PLUGIN_OK, UCX_DATA, 0, ASKED, ASKED, 0},
    {"less than announced", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_DATA, 0, ASKED, 9,
        0},
    {"more than announced", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_DATA, 0, 9, ASKED,
        0},
    {"nothing", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_DATA, 0, ASKED, 0, 0},
    {"more than was asked for", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_DATA, 0,
        ASKED + 1, ASKED + 1, 0},
    {"bytes beyond the end", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_DATA, 1, ASKED,
        ASKED, 0},
    {"bytes far beyond the end", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_DATA, 2000, 9,
        9, 0},
    {"bytes before the beginning", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_DATA,
        UINT64_MAX - 99, ASKED, ASKED, 0},
    {"the answer of a put", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_DONE, 0, ASKED, 0,
        0},
    {"a sound second answer", NA_PLUGIN_OK, UCX_DATA, PIECE, LONG - PIECE,
        LONG - PIECE, PIECE},
    {"the first answer again", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_DATA, 0, PIECE,
        PIECE, PIECE},
};

START_TEST(hostile_answers_to_a_get_write_only_requested_bytes)
{
    static unsigned char memory[GUARD + LONG + GUARD];
    const struct answer *answer = &answers[_i];
    const uint32_t asked = answer->before != 0 ? LONG : ASKED;
    const uint64_t number = 4711;
    struct raw_peer raw;
    struct side side = {.log_level = 0};
    struct side *sides[] = {&side, NULL};
    struct act act;
    na_plugin_segment segment = {memory + GUARD, asked};
    na_plugin_mem *local;
    char name[SIDE_TEXT];
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    memset(memory, 0x5a, sizeof(memory));
    memset(fixture_bytes, 0xee, 2 * (size_t) ASKED + answer->before);
    raw_peer_open(&raw, fixture_protocol());
    snprintf(name, sizeof(name), "%s://127.0.0.1:%u", fixture_protocol(),
        (unsigned) raw_peer_listen(&raw));
    side_open(&side, fixture_protocol(), "127.0.0.1", 0, 0);
    na_plugin_addr *addr = side_lookup(&side, name);
    ck_assert_int_eq(side.ops->mem_register(side.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, NA_PLUGIN_MEM_WRITE, 0, 0},
                         &local),
        NA_PLUGIN_OK);
    na_plugin_mem *remote = claim(&side, number, asked);
    act_init(&act, &side);
    act_move(&act, false, local, remote, asked, addr);
    answer_call(&raw, sides, number);
    while (raw.messages == 0) {
        raw_peer_progress(&raw, sides);
        ck_assert_uint_lt(now_ms(), until);
    }
    ck_assert_uint_eq(raw.got.head.kind, UCX_GET);
    ck_assert_uint_eq(raw.got.fragment.length, asked);
    union ucx_header header = raw.got;
    header.head.token = raw.hello.token;
    if (answer->before != 0) {
        header.head.kind = UCX_DATA;
        header.fragment.length = answer->before;
        raw_peer_send(&raw, sides, &header, sizeof(header.fragment),
            fixture_bytes, answer->before, UCP_AM_SEND_FLAG_EAGER);
    }
    header.head.kind = answer->kind;
    header.fragment.at = answer->at;
    header.fragment.length = answer->length;
    raw_peer_send(&raw, sides, &header, sizeof(header.fragment), fixture_bytes,
        answer->data, UCP_AM_SEND_FLAG_EAGER);
    while (act.pending) {
        raw_peer_progress(&raw, sides);
        if (now_ms() > until)
            ck_abort_msg("%s: the get does not end", answer->what);
    }
    ck_assert_msg(act.end.status == answer->code, "%s: %d", answer->what,
        (int) act.end.status);
    uint32_t written = answer->code == NA_PLUGIN_OK ? asked : answer->before;
    for (size_t i = 0; i < sizeof(memory); i++) {
        bool in = i >= GUARD && i < GUARD + written;
        if (memory[i] != (in ? 0xee : 0x5a))
            ck_abort_msg("%s: byte %zu was written", answer->what, i);
    }
    ck_assert_uint_eq(side_counter(&side, "connections_broken"),
        answer->code == NA_PLUGIN_OK ? 0 : 1);
    act_fini(&act);
    side.ops->mem_remote_free(side.cls, remote);
    side.ops->mem_deregister(side.cls, local);
    side.ops->addr_free(side.cls, addr);
    raw_peer_disconnect(&raw);
    side_close(&side);
    raw_peer_close(&raw);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_loop_test(tcase,
        hostile_answers_to_a_get_write_only_requested_bytes, 0,
        (int) (sizeof(answers) / sizeof(answers[0])));
}

int
main(int argc, char **argv)
{
    return fixture_main(argc, argv, "ucx hostile answers", add);
}

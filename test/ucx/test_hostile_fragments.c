/* SPDX-License-Identifier: BSD-3-Clause */
/* The raw peer's puts and gets by messages: which memory they may access, and
 * the answers. */
#include <string.h>

#include "fixture.h"

#define SERIAL_MOST 4096
/* Offsets in a serialized registration; see README.md. */
#define SERIAL_ACCESS 1
#define SERIAL_NUMBER 16
#define SERIAL_LENGTH 32 /* of the first segment */

/* Registers memory of the victim. Returns the length of its serialized form. */
static uint64_t
offer_serial(struct fixture *fixture, void *memory, uint64_t length,
    uint32_t access, na_plugin_mem **mem_p, unsigned char serial[SERIAL_MOST])
{
    const na_plugin_ops *ops = fixture->victim.ops;
    na_plugin_segment segment = {memory, length};
    uint64_t size = SERIAL_MOST;

    ck_assert_int_eq(ops->mem_register(fixture->victim.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, access, 0, 0},
                         mem_p),
        NA_PLUGIN_OK);
    ck_assert_int_eq(
        ops->mem_serialize(fixture->victim.cls, *mem_p, serial, &size),
        NA_PLUGIN_OK);
    return size;
}

/* Registers memory of the victim. Returns the id that fragments use. */
static uint64_t
offer(struct fixture *fixture, void *memory, uint64_t length, uint32_t access,
    na_plugin_mem **mem_p)
{
    unsigned char serial[SERIAL_MOST];
    uint64_t number;

    offer_serial(fixture, memory, length, access, mem_p, serial);
    memcpy(&number, serial + SERIAL_NUMBER, sizeof(number));
    return number;
}

/* A read-only registration, and its bounds. */
START_TEST(hostile_fragments_are_checked_for_range_and_access)
{
    static unsigned char memory[100];
    const struct message wrong[] = {
        {"a put without the right", ANSWERED, UCX_PUT, .header = 56,
            .fragment = {.length = 9}, .data = 9,
            .status = NA_PLUGIN_E_PERMISSION},
        {"a get beyond the end", ANSWERED, UCX_GET, .header = 56,
            .fragment = {.offset = 92, .length = 9},
            .status = NA_PLUGIN_E_INVALID_ARG},
        {"a get that begins at the end", ANSWERED, UCX_GET, .header = 56,
            .fragment = {.offset = 100, .length = 1},
            .status = NA_PLUGIN_E_INVALID_ARG},
        {"a get that wraps around", ANSWERED, UCX_GET, .header = 56,
            .fragment = {.offset = UINT64_MAX - 3, .length = 9},
            .status = NA_PLUGIN_E_INVALID_ARG},
    };
    struct fixture fixture;
    na_plugin_mem *mem;

    fixture_open(&fixture);
    uint64_t number =
        offer(&fixture, memory, sizeof(memory), NA_PLUGIN_MEM_READ, &mem);
    raw_peer_join(&fixture.raw, fixture.sides, fixture.port);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct message message = wrong[i];
        message.fragment.mem = number;
        fixture.raw.messages = 0;
        memset(fixture_bytes, 0xee, 16);
        fixture_send(&fixture, &message, fixture.raw.hello.token);
        fixture_await_outcome(
            &fixture, ANSWERED, 0, message.status, message.what);
        for (size_t j = 0; j < sizeof(memory); j++)
            ck_assert_uint_eq(memory[j], 0);
    }
    fixture.victim.ops->mem_deregister(fixture.victim.cls, mem);
    fixture_trip(&fixture, "fragments");
    fixture_close(&fixture);
}
END_TEST

/* Put fragments without a request for an answer are answered with later ones,
 * except after a refused fragment. */
START_TEST(hostile_fragments_without_answer_request_are_answered_later)
{
    static unsigned char memory[100];
    const struct {
        struct message message;
        uint64_t number;
        uint32_t answered; /* bytes; 0: no answer requested */
    } steps[] = {
        {{.fragment = {.length = 9}}, 7, 0},
        {{.fragment = {.at = 9, .offset = 9, .length = 9}}, 7, 0},
        {{.tag = 1, .fragment = {.at = 18, .offset = 18, .length = 4}}, 7, 22},
        {{.fragment = {.length = 9}}, 8, 0},
        {{.fragment = {.length = 5}}, 9, 9}, /* another put of 8 bytes */
        {{.fragment = {.at = 50, .length = 6}}, 9,
            5}, /* a gap: the previous part is missing */
        {{.tag = 1, .fragment = {.at = 56, .length = 1}}, 9, 7},
        {{.fragment = {.offset = 99, .length = 9},
             .status = NA_PLUGIN_E_INVALID_ARG},
            10, 9},
        {{.fragment = {.at = 9, .length = 9}}, 10, 9}, /* after the gap */
    };
    struct fixture fixture;
    na_plugin_mem *mem;

    fixture_open(&fixture);
    struct raw_peer *raw = &fixture.raw;
    uint64_t number = offer(&fixture, memory, sizeof(memory),
        NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, &mem);
    raw_peer_join(raw, fixture.sides, fixture.port);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        const struct message *step = &steps[i].message;
        union ucx_header header = {
            .fragment = {.head = {.token = raw->hello.token,
                             .tag = step->tag,
                             .kind = UCX_PUT},
                .number = steps[i].number,
                .mem = number,
                .at = step->fragment.at,
                .offset = step->fragment.offset,
                .length = step->fragment.length}};
        uint32_t messages = raw->messages;
        memset(fixture_bytes, (int) i + 1, 16);
        raw_peer_send(raw, fixture.sides, &header, sizeof(header.fragment),
            fixture_bytes, step->fragment.length, UCP_AM_SEND_FLAG_EAGER);
        uint64_t until =
            now_ms() + (steps[i].answered != 0 ? SIDE_WAIT_MS : 50);
        while (raw->messages == messages && now_ms() < until)
            raw_peer_progress(raw, fixture.sides);
        ck_assert_msg((raw->messages != messages) == (steps[i].answered != 0),
            "step %zu: %u answers", i, raw->messages - messages);
        if (steps[i].answered == 0)
            continue;
        ck_assert_uint_eq(raw->messages, messages + 1);
        ck_assert_uint_eq(raw->got.head.kind, UCX_DONE);
        ck_assert_uint_eq(raw->got.fragment.length, steps[i].answered);
        ck_assert_int_eq(raw->got.fragment.status, step->status);
    }
    ck_assert_uint_eq(memory[0], 9);
    ck_assert_uint_eq(memory[9], 2);
    ck_assert_uint_eq(memory[21], 3);
    ck_assert_uint_eq(memory[99], 0);
    fixture.victim.ops->mem_deregister(fixture.victim.cls, mem);
    fixture_trip(&fixture, "quiet fragments");
    fixture_close(&fixture);
}
END_TEST

/* A peer that keeps requesting and never reads the answers is disconnected;
 * what is queued for it is bounded. */
START_TEST(hostile_gets_with_unread_answers_end_the_connection)
{
    static unsigned char memory[16 * FIXTURE_FRAGMENT];
    union ucx_header header;
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_AM_SEND_FLAG_EAGER};
    void *requests[60];
    struct fixture fixture;
    na_plugin_mem *mem;
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    fixture_open(&fixture);
    uint64_t number =
        offer(&fixture, memory, sizeof(memory), NA_PLUGIN_MEM_READ, &mem);
    raw_peer_join(&fixture.raw, fixture.sides, fixture.port);
    header.fragment = (struct ucx_fragment){
        .head = {.token = fixture.raw.hello.token, .kind = UCX_GET},
        .number = 3,
        .mem = number,
        .length = sizeof(memory)};
    /* each answer has a megabyte, more than sockets buffer */
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        requests[i] = ucp_am_send_nbx(fixture.raw.ep, UCX_AM_ID, &header,
            sizeof(header.fragment), NULL, 0, &param);
        for (uint32_t j = 0; j < 20; j++)
            side_poll(&fixture.victim);
    }
    while (side_counter(&fixture.victim, "connections_broken") == 0) {
        side_poll(&fixture.victim);
        if (now_ms() > until)
            ck_abort_msg("answers pile up without an end");
    }
    fixture_trip(&fixture, "gets that are never answered");
    raw_peer_disconnect(&fixture.raw);
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
        if (UCS_PTR_IS_PTR(requests[i]))
            ucp_request_free(requests[i]);
    fixture.victim.ops->mem_deregister(fixture.victim.cls, mem);
    fixture_close(&fixture);
}
END_TEST

#define NEIGHBOURS 8U /* registrations, in order of creation */
#define SHOWN 4U      /* the one whose id the raw peer has */

/* Registrations with ids unknown to the raw peer, around a readable one. */
struct registrations {
    na_plugin_mem *mems[NEIGHBOURS];
    unsigned char memory[NEIGHBOURS][64];
    unsigned char serial[SERIAL_MOST]; /* of the known registration */
    uint64_t size;
    uint64_t number;
};

static void
registrations_offer(struct fixture *fixture, struct registrations *all)
{
    memset(all, 0, sizeof(*all));
    for (uint32_t i = 0; i < NEIGHBOURS; i++) {
        memset(all->memory[i], 0x5a, sizeof(all->memory[i]));
        if (i == SHOWN)
            all->size =
                offer_serial(fixture, all->memory[i], sizeof(all->memory[i]),
                    NA_PLUGIN_MEM_READ, &all->mems[i], all->serial);
        else
            offer(fixture, all->memory[i], sizeof(all->memory[i]),
                NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, &all->mems[i]);
    }
    memcpy(&all->number, all->serial + SERIAL_NUMBER, sizeof(all->number));
}

static void
registrations_check(const struct registrations *all, const char *after)
{
    for (uint32_t i = 0; i < NEIGHBOURS; i++)
        for (size_t j = 0; j < sizeof(all->memory[i]); j++)
            if (all->memory[i][j] != 0x5a)
                ck_abort_msg("%s: registration %u was written", after, i);
}

static void
registrations_withdraw(struct fixture *fixture, struct registrations *all)
{
    for (uint32_t i = 0; i < NEIGHBOURS; i++)
        fixture->victim.ops->mem_deregister(fixture->victim.cls, all->mems[i]);
}

/* A put and a get with a guessed id. */
static void
guess(struct fixture *fixture, const struct registrations *all, uint64_t number,
    const char *how)
{
    const struct message tries[] = {
        {"put", ANSWERED, UCX_PUT, .header = 56, .tag = 1,
            .fragment = {.mem = number, .length = 9}, .data = 9},
        {"get", ANSWERED, UCX_GET, .header = 56,
            .fragment = {.mem = number, .length = 9}},
    };

    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        fixture->raw.messages = 0;
        memset(fixture_bytes, 0xee, 16);
        fixture_send(fixture, &tries[i], fixture->raw.hello.token);
        fixture_await_outcome(
            fixture, ANSWERED, 0, NA_PLUGIN_E_INVALID_ARG, how);
        registrations_check(all, how);
    }
}

/* The id of one registration has no information about others. */
START_TEST(hostile_fragments_with_a_guessed_id_are_refused)
{
    static struct registrations all;
    struct fixture fixture;
    uint64_t noise = UINT64_C(0x9E3779B97F4A7C15);

    fixture_open(&fixture);
    registrations_offer(&fixture, &all);
    raw_peer_join(&fixture.raw, fixture.sides, fixture.port);
    for (uint64_t i = 1; i <= NEIGHBOURS; i++) {
        guess(&fixture, &all, all.number - i, "a number before");
        guess(&fixture, &all, all.number + i, "a later number");
    }
    for (uint32_t i = 0; i < 64; i++)
        guess(&fixture, &all, all.number ^ (UINT64_C(1) << i), "another bit");
    for (uint32_t i = 0; i < 20; i++) {
        guess(&fixture, &all, noise, "any number");
        noise = noise * UINT64_C(6364136223846793005) + 1;
    }
    guess(&fixture, &all, 0, "no number");
    registrations_withdraw(&fixture, &all);
    fixture_trip(&fixture, "guessed numbers");
    fixture_close(&fixture);
}
END_TEST

/* The friend uses a serialized registration after changing some bytes. */
static void
forge(struct fixture *fixture, const struct registrations *all,
    const unsigned char serial[SERIAL_MOST], uint64_t length, bool put,
    int32_t status, const char *how)
{
    static unsigned char own[256];
    const na_plugin_ops *ops = fixture->friend.ops;
    na_plugin_segment segment = {own, sizeof(own)};
    na_plugin_mem *local, *remote;
    struct act act;

    memset(own, 0xee, sizeof(own));
    ck_assert_int_eq(
        ops->mem_register(fixture->friend.cls,
            &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0, &segment, 1,
                NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, 0, 0},
            &local),
        NA_PLUGIN_OK);
    ck_assert_int_eq(
        ops->mem_deserialize(fixture->friend.cls, serial, all->size, &remote),
        NA_PLUGIN_OK);
    act_init(&act, &fixture->friend);
    act_move(&act, put, local, remote, length, fixture->to_victim);
    int32_t got = act_await(&act, &fixture->victim);
    ck_assert_msg(got == status, "%s: %d", how, (int) got);
    for (size_t i = 0; i < sizeof(own); i++)
        if (own[i] != 0xee)
            ck_abort_msg("%s: bytes arrived", how);
    registrations_check(all, how);
    act_fini(&act);
    ops->mem_remote_free(fixture->friend.cls, remote);
    ops->mem_deregister(fixture->friend.cls, local);
}

/* The same through the plugin: it sends the values of the bytes, the owner
 * refuses. */
START_TEST(hostile_changed_descriptors_are_refused)
{
    static struct registrations all;
    static unsigned char serial[SERIAL_MOST];
    struct fixture fixture;
    uint64_t longer = 65;

    fixture_open(&fixture);
    registrations_offer(&fixture, &all);
    for (int64_t step = -8; step <= 8; step++) {
        uint64_t number = all.number + (uint64_t) step;
        memcpy(serial, all.serial, sizeof(serial));
        memcpy(serial + SERIAL_NUMBER, &number, sizeof(number));
        serial[SERIAL_ACCESS] = NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE;
        /* the same registration, with access that it does not have */
        if (step == 0) {
            forge(&fixture, &all, serial, 9, true, NA_PLUGIN_E_PERMISSION,
                "a right more");
            continue;
        }
        forge(&fixture, &all, serial, 9, true, NA_PLUGIN_E_INVALID_ARG,
            "a put with another number");
        forge(&fixture, &all, serial, 9, false, NA_PLUGIN_E_INVALID_ARG,
            "a get with another number");
    }
    memcpy(serial, all.serial, sizeof(serial));
    memcpy(serial + SERIAL_LENGTH, &longer, sizeof(longer));
    forge(&fixture, &all, serial, longer, false, NA_PLUGIN_E_INVALID_ARG,
        "a byte more");
    registrations_withdraw(&fixture, &all);
    fixture_trip(&fixture, "changed descriptors");
    fixture_close(&fixture);
}
END_TEST

/* The id ends with the registration: the next one has another. */
START_TEST(hostile_ids_of_the_past_are_refused)
{
    static unsigned char memory[64];
    uint64_t numbers[100];
    struct fixture fixture;
    na_plugin_mem *mem;

    fixture_open(&fixture);
    raw_peer_join(&fixture.raw, fixture.sides, fixture.port);
    for (uint32_t i = 0; i < 100; i++) {
        numbers[i] = offer(&fixture, memory, sizeof(memory),
            NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, &mem);
        ck_assert_uint_ne(numbers[i], 0);
        for (uint32_t j = 0; j < i; j++) {
            /* of 100 random ids none is this close */
            uint64_t apart = numbers[i] - numbers[j];
            ck_assert_uint_gt(apart, 1U << 20);
            ck_assert_uint_gt(0 - apart, 1U << 20);
        }
        if (i < 99)
            fixture.victim.ops->mem_deregister(fixture.victim.cls, mem);
    }
    const struct message put = {"put", ANSWERED, UCX_PUT, .header = 56,
        .tag = 1, .fragment = {.mem = numbers[98], .length = 9}, .data = 9};
    memset(fixture_bytes, 0xee, 16);
    fixture.raw.messages = 0;
    fixture_send(&fixture, &put, fixture.raw.hello.token);
    fixture_await_outcome(
        &fixture, ANSWERED, 0, NA_PLUGIN_E_INVALID_ARG, "a number of the past");
    for (size_t i = 0; i < sizeof(memory); i++)
        ck_assert_uint_eq(memory[i], 0);
    fixture.victim.ops->mem_deregister(fixture.victim.cls, mem);
    fixture_close(&fixture);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_test(tcase, hostile_fragments_are_checked_for_range_and_access);
    tcase_add_test(
        tcase, hostile_fragments_without_answer_request_are_answered_later);
    tcase_add_test(tcase, hostile_gets_with_unread_answers_end_the_connection);
    tcase_add_test(tcase, hostile_fragments_with_a_guessed_id_are_refused);
    tcase_add_test(tcase, hostile_changed_descriptors_are_refused);
    tcase_add_test(tcase, hostile_ids_of_the_past_are_refused);
}

int
main(int argc, char **argv)
{
    return fixture_main(argc, argv, "ucx hostile fragments", add);
}

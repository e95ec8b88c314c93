/* SPDX-License-Identifier: BSD-3-Clause */
/* A stranger who speaks UCX but not the plugin's language, or speaks it to do
 * harm: what it says is dropped and counted, and others are served. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stranger.h"

#define PIECE_MOST 61440U
#define MESSAGE_MOST 65536U
#define LONG_MOST (2 * (size_t) MESSAGE_MOST)

/* A class, a friend that it goes on serving, and the stranger. */
struct scene {
    struct side victim, friend;
    struct side *sides[3];
    na_plugin_addr *to_victim;
    uint32_t port;
    uint32_t trips;
    struct act recv;
    struct stranger stranger;
};

static unsigned char bytes[LONG_MOST];

static void
scene_open(struct scene *scene)
{
    char name[SIDE_TEXT];

    memset(scene, 0, sizeof(*scene));
    side_open(&scene->victim, "tcp", "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    side_open(&scene->friend, "tcp", "127.0.0.1", 0, 0);
    scene->sides[0] = &scene->victim;
    scene->sides[1] = &scene->friend;
    side_name(&scene->victim, name);
    scene->port = (uint32_t) strtoul(strrchr(name, ':') + 1, NULL, 10);
    scene->to_victim = side_lookup(&scene->friend, name);
    act_init(&scene->recv, &scene->victim);
    act_recv_any(&scene->recv);
    stranger_open(&scene->stranger);
}

static void
scene_close(struct scene *scene)
{
    stranger_close(&scene->stranger);
    scene->victim.ops->cancel(scene->victim.ctx, scene->recv.op);
    act_await(&scene->recv, &scene->friend);
    act_fini(&scene->recv);
    scene->friend.ops->addr_free(scene->friend.cls, scene->to_victim);
    side_close(&scene->friend);
    side_close(&scene->victim);
}

/* The friend's next message is the next that the victim receives. */
static void
scene_trip(struct scene *scene, const char *after)
{
    struct act send;
    uint32_t tag = 5000 + scene->trips++;

    if (!scene->recv.pending)
        ck_abort_msg("%s: it was received", after);
    act_init(&send, &scene->friend);
    act_send(&send, true, "friend", 6, scene->to_victim, tag);
    ck_assert_int_eq(act_await(&send, &scene->victim), NA_PLUGIN_OK);
    int32_t status = act_await(&scene->recv, &scene->friend);
    if (status != NA_PLUGIN_OK || scene->recv.end.tag != tag)
        ck_abort_msg("%s: %d, tag %lu", after, (int) status,
            (unsigned long) scene->recv.end.tag);
    scene->victim.ops->addr_free(scene->victim.cls, scene->recv.end.source);
    act_recv_any(&scene->recv);
    act_fini(&send);
}

static void
await_counter(
    struct scene *scene, const char *name, uint64_t value, const char *what)
{
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    while (side_counter(&scene->victim, name) < value) {
        stranger_turn(&scene->stranger, scene->sides);
        if (now_ms() > until)
            ck_abort_msg("%s: %s stays %lu", what, name,
                (unsigned long) side_counter(&scene->victim, name));
    }
    if (side_counter(&scene->victim, name) != value)
        ck_abort_msg("%s: counted twice in %s", what, name);
}

static void
await_gone(struct scene *scene, const char *what)
{
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    while (!scene->stranger.gone) {
        stranger_turn(&scene->stranger, scene->sides);
        if (now_ms() > until)
            ck_abort_msg("%s: the connection stays", what);
    }
}

/* What becomes of a message, and with it of its connection. */
enum fate {
    STRAYED,   /* counted; the connection stays */
    MALFORMED, /* likewise */
    BROKEN,    /* counted, and the connection ends */
    ANSWERED,  /* with a status */
};

static void
await_fate(struct scene *scene, enum fate fate, uint64_t count, int32_t status,
    const char *what)
{
    static const char *const names[] = {
        "messages_strayed", "messages_malformed", "connections_broken"};
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    if (fate != ANSWERED) {
        await_counter(scene, names[fate], count + 1, what);
        if (fate == BROKEN)
            await_gone(scene, what);
        return;
    }
    while (scene->stranger.messages == 0) {
        stranger_turn(&scene->stranger, scene->sides);
        if (now_ms() > until)
            ck_abort_msg("%s: no answer", what);
    }
    ck_assert_int_eq(scene->stranger.got.piece.status, status);
    ck_assert_uint_eq(scene->stranger.got_length, 0);
}

static uint64_t
count_of(struct scene *scene, enum fate fate)
{
    return fate == STRAYED ? side_counter(&scene->victim, "messages_strayed")
           : fate == MALFORMED
               ? side_counter(&scene->victim, "messages_malformed")
           : fate == BROKEN ? side_counter(&scene->victim, "connections_broken")
                            : 0;
}

/* Messages by a connection without a hello yet, or after a sound one. */
struct message {
    const char *what;
    enum fate fate;
    uint8_t kind;
    uint8_t header; /* bytes of it; 0: 16 */
    uint8_t to;
    uint32_t tag;
    struct {
        uint64_t mem, at, offset;
        uint32_t length;
    } piece;
    uint32_t data;
    uint32_t flags;
    int32_t status; /* ANSWERED */
};

static void
say(struct scene *scene, const struct message *message, uint64_t token)
{
    union ucx_header header = {.piece = {.head = {.token = token,
                                             .tag = message->tag,
                                             .kind = message->kind,
                                             .to = message->to},
                                   .number = 3,
                                   .mem = message->piece.mem,
                                   .at = message->piece.at,
                                   .offset = message->piece.offset,
                                   .length = message->piece.length}};

    stranger_send(&scene->stranger, scene->sides, &header,
        message->header != 0 ? message->header : sizeof(header.head), bytes,
        message->data,
        message->flags != 0 ? message->flags : UCP_AM_SEND_FLAG_EAGER);
}

static const struct message early[] = {
    {"an unexpected message without a token", STRAYED, UCX_UNEXPECTED,
        .data = 9},
    {"an expected message", STRAYED, UCX_EXPECTED, .data = 9},
    {"room given back", STRAYED, UCX_CREDIT, .tag = 100},
    {"a bye", STRAYED, UCX_BYE, .tag = 1},
    {"a get", STRAYED, UCX_GET, .header = 56, .piece = {.length = 10}},
    {"a put", STRAYED, UCX_PUT, .header = 56, .piece = {.length = 9},
        .data = 9},
    {"data", STRAYED, UCX_DATA, .header = 56, .piece = {.length = 9},
        .data = 9},
    {"no known kind", STRAYED, 200, .tag = 1},
    {"a header of 1 byte", MALFORMED, UCX_HELLO, .header = 1},
    {"a header of 15 bytes", MALFORMED, UCX_UNEXPECTED, .header = 15},
    {"a hello without a way back", STRAYED, UCX_HELLO, .data = 176},
    {"by rendezvous", MALFORMED, UCX_UNEXPECTED, .data = LONG_MOST,
        .flags = UCP_AM_SEND_FLAG_RNDV},
};

/* One connection bears all of these: no hello is none to be broken. */
START_TEST(hostile_messages_before_a_hello_are_counted)
{
    struct scene scene;

    scene_open(&scene);
    for (size_t i = 0; i < sizeof(early) / sizeof(early[0]); i++) {
        const struct message *message = &early[i];
        uint64_t count = count_of(&scene, message->fate);
        stranger_call(&scene.stranger, scene.port);
        say(&scene, message, i % 2 == 0 ? 0 : UINT64_MAX);
        await_fate(&scene, message->fate, count, 0, message->what);
        scene_trip(&scene, message->what);
        stranger_hang_up(&scene.stranger);
    }
    ck_assert_uint_eq(side_counter(&scene.victim, "connections_broken"), 0);
    ck_assert_uint_eq(side_counter(&scene.victim, "peers_connected"), 1);
    scene_close(&scene);
}
END_TEST

static const struct message late[] = {
    {"kind 0", BROKEN, 0, .tag = 1},
    {"kind 10", BROKEN, 10, .tag = 1},
    {"a second hello", BROKEN, UCX_HELLO, .data = 176},
    {"room that was not taken", BROKEN, UCX_CREDIT, .tag = 1},
    {"all room there is", BROKEN, UCX_CREDIT, .tag = UINT32_MAX},
    {"a get in a short header", BROKEN, UCX_GET, .tag = 1},
    {"a put in a header of 55 bytes", BROKEN, UCX_PUT, .header = 55,
        .piece = {.length = 9}, .data = 9},
    {"data that nobody asked for", BROKEN, UCX_DATA, .header = 56,
        .piece = {.length = 9}, .data = 9},
    {"done of nothing", BROKEN, UCX_DONE, .header = 56, .piece = {.length = 9}},
    {"a get of nothing", BROKEN, UCX_GET, .header = 56},
    {"a get of too much", BROKEN, UCX_GET, .header = 56,
        .piece = {.length = 16 * PIECE_MOST + 1}},
    {"a put of too much", BROKEN, UCX_PUT, .header = 56,
        .piece = {.length = PIECE_MOST + 1}, .data = PIECE_MOST + 1},
    {"a get of 4 GiB", BROKEN, UCX_GET, .header = 56,
        .piece = {.length = UINT32_MAX}},
    {"a get with data", BROKEN, UCX_GET, .header = 56, .piece = {.length = 9},
        .data = 9},
    {"a put with less than it says", BROKEN, UCX_PUT, .header = 56,
        .piece = {.length = 10}, .data = 9},
    {"a put with more", BROKEN, UCX_PUT, .header = 56, .piece = {.length = 8},
        .data = 9},
    {"a message of 65,537 bytes", BROKEN, UCX_UNEXPECTED,
        .data = MESSAGE_MOST + 1},
    {"for a context that is not there", STRAYED, UCX_UNEXPECTED, .to = 200,
        .data = 9},
    {"an expected one for none", STRAYED, UCX_EXPECTED, .to = 1, .data = 9},
    {"a header of 40 bytes, short", BROKEN, UCX_DONE, .header = 40},
    {"by rendezvous", MALFORMED, UCX_UNEXPECTED, .data = LONG_MOST,
        .flags = UCP_AM_SEND_FLAG_RNDV},
    {"a get of no registration", ANSWERED, UCX_GET, .header = 56,
        .piece = {.mem = 12345, .length = 9},
        .status = NA_PLUGIN_E_INVALID_ARG},
    {"a put into no registration", ANSWERED, UCX_PUT, .header = 56,
        .piece = {.mem = UINT64_MAX, .length = 9}, .data = 9,
        .status = NA_PLUGIN_E_INVALID_ARG},
};

START_TEST(hostile_messages_with_a_good_token_are_counted)
{
    struct scene scene;

    scene_open(&scene);
    for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
        const struct message *message = &late[i];
        uint64_t count = count_of(&scene, message->fate);
        stranger_join(&scene.stranger, scene.sides, scene.port);
        say(&scene, message, scene.stranger.hello.token);
        await_fate(
            &scene, message->fate, count, message->status, message->what);
        scene_trip(&scene, message->what);
        stranger_hang_up(&scene.stranger);
    }
    scene_close(&scene);
}
END_TEST

/* A registration that may only be read, and where it ends. */
START_TEST(hostile_pieces_keep_to_range_and_rights)
{
    static unsigned char memory[100];
    const struct message wrong[] = {
        {"a put without the right", ANSWERED, UCX_PUT, .header = 56,
            .piece = {.length = 9}, .data = 9,
            .status = NA_PLUGIN_E_PERMISSION},
        {"a get beyond the end", ANSWERED, UCX_GET, .header = 56,
            .piece = {.offset = 92, .length = 9},
            .status = NA_PLUGIN_E_INVALID_ARG},
        {"a get that begins at the end", ANSWERED, UCX_GET, .header = 56,
            .piece = {.offset = 100, .length = 1},
            .status = NA_PLUGIN_E_INVALID_ARG},
        {"a get that goes round", ANSWERED, UCX_GET, .header = 56,
            .piece = {.offset = UINT64_MAX - 3, .length = 9},
            .status = NA_PLUGIN_E_INVALID_ARG},
    };
    struct scene scene;
    na_plugin_segment segment = {memory, sizeof(memory)};
    na_plugin_mem *mem;
    unsigned char serial[4096];
    uint64_t size = sizeof(serial);
    uint64_t number;

    scene_open(&scene);
    const na_plugin_ops *ops = scene.victim.ops;
    ck_assert_int_eq(ops->mem_register(scene.victim.cls, &segment, 1,
                         NA_PLUGIN_MEM_READ, NA_PLUGIN_MEM_HOST, 0, &mem),
        NA_PLUGIN_OK);
    ck_assert_int_eq(
        ops->mem_serialize(scene.victim.cls, mem, serial, &size), NA_PLUGIN_OK);
    memcpy(&number, serial + 16, sizeof(number)); /* as README.md lays it out */
    stranger_join(&scene.stranger, scene.sides, scene.port);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct message message = wrong[i];
        message.piece.mem = number;
        scene.stranger.messages = 0;
        memset(bytes, 0xee, 16);
        say(&scene, &message, scene.stranger.hello.token);
        await_fate(&scene, ANSWERED, 0, message.status, message.what);
        for (size_t j = 0; j < sizeof(memory); j++)
            ck_assert_uint_eq(memory[j], 0);
    }
    ops->mem_deregister(scene.victim.cls, mem);
    scene_trip(&scene, "pieces");
    scene_close(&scene);
}
END_TEST

/* Pieces of puts that want no answer get one with those behind them; but none
 * that come after a piece that was refused. */
START_TEST(hostile_quiet_pieces_are_answered_in_the_end)
{
    static unsigned char memory[100];
    const struct {
        struct message message;
        uint64_t number;
        uint32_t answered; /* bytes; 0: no answer */
    } steps[] = {
        {{.piece = {.length = 9}}, 7, 0},
        {{.piece = {.at = 9, .offset = 9, .length = 9}}, 7, 0},
        {{.tag = 1, .piece = {.at = 18, .offset = 18, .length = 4}}, 7, 22},
        {{.piece = {.length = 9}}, 8, 0},
        {{.piece = {.length = 5}}, 9, 9}, /* another put: of 8 */
        {{.piece = {.at = 50, .length = 6}}, 9, 5}, /* a gap: what was before */
        {{.tag = 1, .piece = {.at = 56, .length = 1}}, 9, 7},
        {{.piece = {.offset = 99, .length = 9},
             .status = NA_PLUGIN_E_INVALID_ARG},
            10, 9},
        {{.piece = {.at = 9, .length = 9}}, 10, 9}, /* behind that */
    };
    struct scene scene;
    na_plugin_segment segment = {memory, sizeof(memory)};
    na_plugin_mem *mem;
    unsigned char serial[4096];
    uint64_t size = sizeof(serial);
    uint64_t number;

    scene_open(&scene);
    struct stranger *stranger = &scene.stranger;
    const na_plugin_ops *ops = scene.victim.ops;
    ck_assert_int_eq(ops->mem_register(scene.victim.cls, &segment, 1,
                         NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE,
                         NA_PLUGIN_MEM_HOST, 0, &mem),
        NA_PLUGIN_OK);
    ck_assert_int_eq(
        ops->mem_serialize(scene.victim.cls, mem, serial, &size), NA_PLUGIN_OK);
    memcpy(&number, serial + 16, sizeof(number)); /* as README.md lays it out */
    stranger_join(stranger, scene.sides, scene.port);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        const struct message *step = &steps[i].message;
        union ucx_header header = {
            .piece = {.head = {.token = stranger->hello.token,
                          .tag = step->tag,
                          .kind = UCX_PUT},
                .number = steps[i].number,
                .mem = number,
                .at = step->piece.at,
                .offset = step->piece.offset,
                .length = step->piece.length}};
        uint32_t messages = stranger->messages;
        memset(bytes, (int) i + 1, 16);
        stranger_send(stranger, scene.sides, &header, sizeof(header.piece),
            bytes, step->piece.length, UCP_AM_SEND_FLAG_EAGER);
        uint64_t until = now_ms() + (steps[i].answered != 0 ? SIDE_WAIT_MS : 50);
        while (stranger->messages == messages && now_ms() < until)
            stranger_turn(stranger, scene.sides);
        ck_assert_msg((stranger->messages != messages) ==
                          (steps[i].answered != 0),
            "step %zu: %u answers", i, stranger->messages - messages);
        if (steps[i].answered == 0)
            continue;
        ck_assert_uint_eq(stranger->messages, messages + 1);
        ck_assert_uint_eq(stranger->got.head.kind, UCX_DONE);
        ck_assert_uint_eq(stranger->got.piece.length, steps[i].answered);
        ck_assert_int_eq(stranger->got.piece.status, step->status);
    }
    ck_assert_uint_eq(memory[0], 9);
    ck_assert_uint_eq(memory[9], 2);
    ck_assert_uint_eq(memory[21], 3);
    ck_assert_uint_eq(memory[99], 0);
    ops->mem_deregister(scene.victim.cls, mem);
    scene_trip(&scene, "quiet pieces");
    scene_close(&scene);
}
END_TEST

/* Hellos with something wrong in them. */
struct wrong_hello {
    const char *what;
    size_t offset; /* into the hello */
    uint64_t value;
    size_t size;   /* of it */
    size_t length; /* of the hello; 0: all */
};

#define IN_HELLO(field) offsetof(struct ucx_hello, field)
#define WIDTH(field) sizeof(((struct ucx_hello *) 0)->field)

static const struct wrong_hello wrong_hellos[] = {
    {"empty", 0, 0, 0, 1},
    {"a byte too short", 0, 0, 0, sizeof(struct ucx_hello) - 1},
    {"no magic", IN_HELLO(magic), 1, WIDTH(magic), 0},
    {"says it is short", IN_HELLO(bytes), 175, WIDTH(bytes), 0},
    {"no number", IN_HELLO(number), 0, WIDTH(number), 0},
    {"no token", IN_HELLO(token), 0, WIDTH(token), 0},
    {"no window", IN_HELLO(window), 0, WIDTH(window), 0},
    {"a window of 255", IN_HELLO(window), 255, WIDTH(window), 0},
    {"a space in its name", IN_HELLO(name), 0x20707574, 4, 0},
    {"half a line in its name", IN_HELLO(name), 0x0a707574, 4, 0},
    {"no ASCII in its name", IN_HELLO(name), 0xff707574, 4, 0},
};

START_TEST(hostile_hellos_are_counted_and_end_the_connection)
{
    struct scene scene;

    scene_open(&scene);
    for (size_t i = 0; i <= sizeof(wrong_hellos) / sizeof(wrong_hellos[0]);
         i++) {
        struct ucx_hello hello = stranger_hello();
        const struct wrong_hello *wrong = &wrong_hellos[i];
        const char *what = "a name without an end";
        size_t length = sizeof(hello);
        if (i == sizeof(wrong_hellos) / sizeof(wrong_hellos[0])) {
            memset(hello.name, 'x', sizeof(hello.name));
        } else {
            what = wrong->what;
            memcpy((char *) &hello + wrong->offset, &wrong->value, wrong->size);
            length = wrong->length != 0 ? wrong->length : length;
        }
        uint64_t broken = count_of(&scene, BROKEN);
        uint64_t malformed = count_of(&scene, MALFORMED);
        stranger_call(&scene.stranger, scene.port);
        stranger_greet(&scene.stranger, scene.sides, 0, &hello, length);
        await_fate(&scene, BROKEN, broken, 0, what);
        await_counter(&scene, "messages_malformed", malformed + 1, what);
        ck_assert(!scene.stranger.greeted);
        scene_trip(&scene, what);
        stranger_hang_up(&scene.stranger);
    }
    scene_close(&scene);
}
END_TEST

/* Names that are no address, or somebody else's, are not believed. */
START_TEST(hostile_names_are_only_names)
{
    static const char *const names[] = {"x", "://", "tcp://", "tcp://127.0.0.1",
        "tcp://[::1]:80", "tcp://198.51.100.77:80", "tcp://255.255.255.255:0",
        "%s%s%s%n"};
    struct scene scene;

    scene_open(&scene);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct ucx_hello hello = stranger_hello();
        struct message message = {"named", STRAYED, UCX_UNEXPECTED, .tag = 8};
        char text[SIDE_TEXT];
        uint64_t size = sizeof(text);
        snprintf(hello.name, sizeof(hello.name), "%s", names[i]);
        stranger_call(&scene.stranger, scene.port);
        stranger_greet(&scene.stranger, scene.sides, 0, &hello, sizeof(hello));
        while (!scene.stranger.greeted)
            stranger_turn(&scene.stranger, scene.sides);
        say(&scene, &message, scene.stranger.hello.token);
        while (scene.recv.pending)
            stranger_turn(&scene.stranger, scene.sides);
        ck_assert_int_eq(scene.recv.end.status, NA_PLUGIN_OK);
        ck_assert_uint_eq(scene.recv.end.tag, 8);
        const na_plugin_ops *ops = scene.victim.ops;
        na_plugin_addr *source = scene.recv.end.source;
        int32_t ret =
            ops->addr_to_string(scene.victim.cls, source, text, &size);
        ck_assert_msg(ret == NA_PLUGIN_OK || ret == NA_PLUGIN_E_OPNOTSUPPORTED,
            "%s: %d", names[i], (int) ret);
        ops->addr_free(scene.victim.cls, source);
        act_recv_any(&scene.recv);
        scene_trip(&scene, names[i]);
        stranger_hang_up(&scene.stranger);
    }
    scene_close(&scene);
}
END_TEST

/* Another version is told that it is one; it isn't told again and again. */
START_TEST(hostile_version_is_refused_once)
{
    struct scene scene;
    struct ucx_hello hello = stranger_hello();
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    hello.version = 99;
    scene_open(&scene);
    stranger_call(&scene.stranger, scene.port);
    stranger_greet(&scene.stranger, scene.sides, 0, &hello, sizeof(hello));
    while (!scene.stranger.greeted) {
        stranger_turn(&scene.stranger, scene.sides);
        ck_assert_uint_lt(now_ms(), until);
    }
    ck_assert_int_ne(scene.stranger.hello.status, 0);
    ck_assert_uint_eq(count_of(&scene, MALFORMED), 1);
    ck_assert_uint_eq(scene.victim.warnings, 1);
    stranger_greet(&scene.stranger, scene.sides, 0, &hello, sizeof(hello));
    await_gone(&scene, "a second hello of another version");
    ck_assert_uint_eq(side_counter(&scene.victim, "connections_broken"), 1);
    scene_trip(&scene, "another version");
    scene_close(&scene);
}
END_TEST

/* What somebody has recorded of a connection is worth nothing by another one,
 * or once it has ended. */
START_TEST(hostile_replays_are_counted)
{
    const struct message message = {
        "recorded", STRAYED, UCX_UNEXPECTED, .tag = 8, .data = 9};
    struct scene scene;

    scene_open(&scene);
    stranger_join(&scene.stranger, scene.sides, scene.port);
    uint64_t token = scene.stranger.hello.token;
    for (uint32_t i = 0; i < 64; i++) {
        uint64_t count = count_of(&scene, STRAYED);
        say(&scene, &message, token ^ (UINT64_C(1) << i));
        await_counter(&scene, "messages_strayed", count + 1, "another token");
    }
    /* its hello again, to whom it was said first: there is no such caller */
    struct ucx_hello hello = stranger_hello();
    uint64_t count = count_of(&scene, STRAYED);
    stranger_greet(&scene.stranger, scene.sides, 0, &hello, sizeof(hello));
    await_counter(&scene, "messages_strayed", count + 1, "a hello again");
    scene_trip(&scene, "a hello again");
    ck_assert_uint_eq(side_counter(&scene.victim, "peers_connected"), 2);
    stranger_hang_up(&scene.stranger);
    await_counter(&scene, "connections_lost", 1, "hanging up");

    stranger_join(&scene.stranger, scene.sides, scene.port);
    ck_assert_uint_ne(scene.stranger.hello.token, token);
    count = count_of(&scene, STRAYED);
    say(&scene, &message, token);
    await_counter(&scene, "messages_strayed", count + 1, "a token of before");
    scene_trip(&scene, "replays");
    scene_close(&scene);
}
END_TEST

/* Who sends more than it was given room for is let go, and what is kept of it
 * has a bound. */
START_TEST(hostile_floods_end)
{
    const struct message message = {
        "a flood", STRAYED, UCX_UNEXPECTED, .tag = 8, .data = 200};
    const struct message lone = {
        "for nobody", STRAYED, UCX_EXPECTED, .tag = 8, .data = 1024};
    struct scene scene;
    uint32_t got = 0;

    scene_open(&scene);
    scene.victim.ops->cancel(scene.victim.ctx, scene.recv.op);
    act_await(&scene.recv, NULL);
    stranger_join(&scene.stranger, scene.sides, scene.port);
    for (uint32_t i = 0; i < 1000 && !scene.stranger.gone; i++) {
        say(&scene, &message, scene.stranger.hello.token);
        stranger_turn(&scene.stranger, scene.sides);
    }
    await_gone(&scene, "a flood");
    ck_assert_uint_eq(side_counter(&scene.victim, "connections_broken"), 1);
    uint64_t kept = side_counter(&scene.victim, "unexpected_queued");
    ck_assert_uint_le(kept * 264, (128U << 10) + MESSAGE_MOST + 400);
    /* what had room is there */
    for (;;) {
        act_recv_any(&scene.recv);
        side_poll(&scene.victim);
        if (scene.recv.pending)
            break;
        ck_assert_int_eq(scene.recv.end.status, NA_PLUGIN_OK);
        scene.victim.ops->addr_free(scene.victim.cls, scene.recv.end.source);
        got++;
    }
    ck_assert_uint_eq(got, kept);
    scene_trip(&scene, "a flood");
    stranger_hang_up(&scene.stranger);

    stranger_join(&scene.stranger, scene.sides, scene.port);
    for (uint32_t i = 0; i < 1000; i++)
        say(&scene, &lone, scene.stranger.hello.token);
    await_counter(&scene, "expected_dropped", 1000 - 256, "for nobody");
    scene_trip(&scene, "for nobody");
    scene_close(&scene);
}
END_TEST

/* The class calls, and whom it calls answers nonsense. */
START_TEST(hostile_answers_end_the_call)
{
    static const struct {
        const char *what;
        int32_t code;
        uint32_t kind; /* 0: no answer */
        size_t offset;
        uint64_t value;
        size_t size;
    } answers[] = {
        {"a message first", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_UNEXPECTED, 0, 0,
            0},
        {"no magic", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_HELLO, IN_HELLO(magic), 0,
            WIDTH(magic)},
        {"another version", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_HELLO,
            IN_HELLO(version), 2, WIDTH(version)},
        {"a refusal", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_HELLO, IN_HELLO(status),
            (uint64_t) -1, WIDTH(status)},
        {"no number", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_HELLO, IN_HELLO(number),
            0, WIDTH(number)},
        {"nothing", NA_PLUGIN_E_HOSTUNREACH, 0, 0, 0, 0},
    };
    struct stranger stranger;
    struct side side = {.key = "ucx.connect_timeout", .value = "1"};
    struct side *sides[] = {&side, NULL};
    struct act act;
    char name[SIDE_TEXT];

    stranger_open(&stranger);
    snprintf(name, sizeof(name), "tcp://127.0.0.1:%u",
        (unsigned) stranger_listen(&stranger));
    side_open(&side, "tcp", NULL, -1, 0);
    na_plugin_addr *addr = side_lookup(&side, name);
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        struct ucx_hello hello = stranger_hello();
        uint64_t until = now_ms() + SIDE_WAIT_MS;
        stranger.gone = stranger.greeted = false;
        act_init(&act, &side);
        act_send(&act, true, "hi", 2, addr, 1);
        while (!stranger.greeted) {
            stranger_turn(&stranger, sides);
            ck_assert_uint_lt(now_ms(), until);
        }
        memcpy((char *) &hello + answers[i].offset, &answers[i].value,
            answers[i].size);
        struct ucx_head head = {
            .token = stranger.hello.token, .kind = (uint8_t) answers[i].kind};
        if (head.kind != 0)
            stranger_send(&stranger, sides, &head, sizeof(head), &hello,
                sizeof(hello), UCP_AM_SEND_FLAG_EAGER);
        while (act.pending) {
            stranger_turn(&stranger, sides);
            ck_assert_uint_lt(now_ms(), until);
        }
        if (act.end.status != answers[i].code)
            ck_abort_msg("%s: %d", answers[i].what, (int) act.end.status);
        act_fini(&act);
        stranger_hang_up(&stranger);
    }
    side.ops->addr_free(side.cls, addr);
    side_close(&side);
    stranger_close(&stranger);
}
END_TEST

static void
turn_for(struct scene *scene, uint64_t ms)
{
    uint64_t until = now_ms() + ms;

    while (now_ms() < until)
        stranger_turn(&scene->stranger, scene->sides);
}

START_TEST(hostile_tags_are_nothing)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    struct scene scene;

    scene_open(&scene);
    stranger_join(&scene.stranger, scene.sides, scene.port);
    for (uint32_t i = 0; i < 3; i++) {
        void *request = ucp_tag_send_nbx(
            scene.stranger.ep, bytes, (size_t) i * 5000, 1, &param);
        turn_for(&scene, 50);
        scene_trip(&scene, "a tagged message");
        if (UCS_PTR_IS_PTR(request))
            ucp_request_free(request);
    }
    scene_close(&scene);
}
END_TEST

/* UCX's own puts over TCP are written where their sender says. */
START_TEST(hostile_puts_by_ucx_write_nothing)
{
    static unsigned char target[64];
    ucp_mem_map_params_t map = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                                              UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address = target,
        .length = sizeof(target)};
    ucp_request_param_t param = {.op_attr_mask = 0};
    struct scene scene;
    ucp_mem_h mem;
    ucp_rkey_h key;
    void *packed;
    size_t size;

    scene_open(&scene);
    stranger_join(&scene.stranger, scene.sides, scene.port);
    ck_assert_int_eq(ucp_mem_map(scene.stranger.context, &map, &mem), UCS_OK);
    ck_assert_int_eq(
        ucp_rkey_pack(scene.stranger.context, mem, &packed, &size), UCS_OK);
    ck_assert_int_eq(
        ucp_ep_rkey_unpack(scene.stranger.ep, packed, &key), UCS_OK);
    ucp_rkey_buffer_release(packed);
    memset(bytes, 0xee, sizeof(target));
    void *request = ucp_put_nbx(scene.stranger.ep, bytes, sizeof(target),
        (uintptr_t) target, key, &param);
    turn_for(&scene, 100);
    for (size_t i = 0; i < sizeof(target); i++)
        ck_assert_uint_eq(target[i], 0);
    scene_trip(&scene, "a put of UCX");
    stranger_hang_up(&scene.stranger);
    turn_for(&scene, 20);
    if (UCS_PTR_IS_PTR(request))
        ucp_request_free(request);
    ucp_rkey_destroy(key);
    ucp_mem_unmap(scene.stranger.context, mem);
    scene_close(&scene);
}
END_TEST

/* No UCX at all: connects, and writes what it likes. */
START_TEST(hostile_bytes_at_the_port_harm_nobody)
{
    struct scene scene;

    scene_open(&scene);
    srand(7);
    for (uint32_t i = 0; i < 20; i++) {
        struct sockaddr_in where = {.sin_family = AF_INET,
            .sin_port = htons((uint16_t) scene.port),
            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(
            connect(fd, (struct sockaddr *) &where, sizeof(where)), 0);
        size_t length = i == 0 ? 0 : (size_t) rand() % 3000;
        for (size_t j = 0; j < length; j++)
            bytes[j] = (unsigned char) rand();
        ck_assert_int_eq(
            send(fd, bytes, length, MSG_NOSIGNAL), (ssize_t) length);
        for (uint32_t j = 0; j < 50; j++)
            stranger_turn(&scene.stranger, scene.sides);
        if (i % 2 == 0)
            close(fd);
        scene_trip(&scene, "bytes");
    }
    scene_close(&scene);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("ucx hostile");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, hostile_messages_before_a_hello_are_counted);
    tcase_add_test(tcase, hostile_messages_with_a_good_token_are_counted);
    tcase_add_test(tcase, hostile_pieces_keep_to_range_and_rights);
    tcase_add_test(tcase, hostile_quiet_pieces_are_answered_in_the_end);
    tcase_add_test(tcase, hostile_hellos_are_counted_and_end_the_connection);
    tcase_add_test(tcase, hostile_names_are_only_names);
    tcase_add_test(tcase, hostile_version_is_refused_once);
    tcase_add_test(tcase, hostile_replays_are_counted);
    tcase_add_test(tcase, hostile_floods_end);
    tcase_add_test(tcase, hostile_answers_end_the_call);
    tcase_add_test(tcase, hostile_tags_are_nothing);
    tcase_add_test(tcase, hostile_puts_by_ucx_write_nothing);
    tcase_add_test(tcase, hostile_bytes_at_the_port_harm_nobody);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A stranger's puts and gets by messages: where they may reach, and what it is
 * answered. */
#include <string.h>

#include "scene.h"

/* Registers memory of the victim's: the number that pieces name it by. */
static uint64_t
offer(struct scene *scene, void *memory, uint64_t length, uint32_t access,
    na_plugin_mem **mem_p)
{
    const na_plugin_ops *ops = scene->victim.ops;
    na_plugin_segment segment = {memory, length};
    unsigned char serial[4096];
    uint64_t size = sizeof(serial);
    uint64_t number;

    ck_assert_int_eq(ops->mem_register(scene->victim.cls, &segment, 1, access,
                         NA_PLUGIN_MEM_HOST, 0, mem_p),
        NA_PLUGIN_OK);
    ck_assert_int_eq(
        ops->mem_serialize(scene->victim.cls, *mem_p, serial, &size),
        NA_PLUGIN_OK);
    memcpy(&number, serial + 16, sizeof(number)); /* as README.md lays it out */
    return number;
}

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
    na_plugin_mem *mem;

    scene_open(&scene);
    uint64_t number =
        offer(&scene, memory, sizeof(memory), NA_PLUGIN_MEM_READ, &mem);
    stranger_join(&scene.stranger, scene.sides, scene.port);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct message message = wrong[i];
        message.piece.mem = number;
        scene.stranger.messages = 0;
        memset(scene_bytes, 0xee, 16);
        scene_say(&scene, &message, scene.stranger.hello.token);
        scene_await_fate(&scene, ANSWERED, 0, message.status, message.what);
        for (size_t j = 0; j < sizeof(memory); j++)
            ck_assert_uint_eq(memory[j], 0);
    }
    scene.victim.ops->mem_deregister(scene.victim.cls, mem);
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
        {{.piece = {.length = 5}}, 9, 9},           /* another put: of 8 */
        {{.piece = {.at = 50, .length = 6}}, 9, 5}, /* a gap: what was before */
        {{.tag = 1, .piece = {.at = 56, .length = 1}}, 9, 7},
        {{.piece = {.offset = 99, .length = 9},
             .status = NA_PLUGIN_E_INVALID_ARG},
            10, 9},
        {{.piece = {.at = 9, .length = 9}}, 10, 9}, /* behind that */
    };
    struct scene scene;
    na_plugin_mem *mem;

    scene_open(&scene);
    struct stranger *stranger = &scene.stranger;
    uint64_t number = offer(&scene, memory, sizeof(memory),
        NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, &mem);
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
        memset(scene_bytes, (int) i + 1, 16);
        stranger_send(stranger, scene.sides, &header, sizeof(header.piece),
            scene_bytes, step->piece.length, UCP_AM_SEND_FLAG_EAGER);
        uint64_t until =
            now_ms() + (steps[i].answered != 0 ? SIDE_WAIT_MS : 50);
        while (stranger->messages == messages && now_ms() < until)
            stranger_turn(stranger, scene.sides);
        ck_assert_msg(
            (stranger->messages != messages) == (steps[i].answered != 0),
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
    scene.victim.ops->mem_deregister(scene.victim.cls, mem);
    scene_trip(&scene, "quiet pieces");
    scene_close(&scene);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_test(tcase, hostile_pieces_keep_to_range_and_rights);
    tcase_add_test(tcase, hostile_quiet_pieces_are_answered_in_the_end);
}

int
main(int argc, char **argv)
{
    return scene_main(argc, argv, "ucx hostile pieces", add);
}

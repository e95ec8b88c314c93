/* SPDX-License-Identifier: BSD-3-Clause */
/* A class, a friend that it serves throughout, and a raw peer that calls it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene.h"

static const char *protocol = "tcp";
unsigned char scene_bytes[SCENE_LONG];

const char *
scene_protocol(void)
{
    return protocol;
}

void
scene_open(struct scene *scene)
{
    char name[SIDE_TEXT];

    memset(scene, 0, sizeof(*scene));
    side_open(&scene->victim, protocol, "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    side_open(&scene->friend, protocol, "127.0.0.1", 0, 0);
    scene->sides[0] = &scene->victim;
    scene->sides[1] = &scene->friend;
    side_name(&scene->victim, name);
    scene->port = (uint32_t) strtoul(strrchr(name, ':') + 1, NULL, 10);
    scene->to_victim = side_lookup(&scene->friend, name);
    act_init(&scene->recv, &scene->victim);
    act_recv_any(&scene->recv);
    raw_peer_open(&scene->raw, protocol);
}

void
scene_close(struct scene *scene)
{
    raw_peer_close(&scene->raw);
    scene->victim.ops->cancel(scene->victim.ctx, scene->recv.op);
    act_await(&scene->recv, &scene->friend);
    act_fini(&scene->recv);
    scene->friend.ops->addr_free(scene->friend.cls, scene->to_victim);
    side_close(&scene->friend);
    side_close(&scene->victim);
}

/* Checks that the victim's next received message is the friend's. */
void
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

void
scene_await_counter(
    struct scene *scene, const char *name, uint64_t value, const char *what)
{
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    while (side_counter(&scene->victim, name) < value) {
        raw_peer_progress(&scene->raw, scene->sides);
        if (now_ms() > until)
            ck_abort_msg("%s: %s stays %lu", what, name,
                (unsigned long) side_counter(&scene->victim, name));
    }
    if (side_counter(&scene->victim, name) != value)
        ck_abort_msg("%s: counted twice in %s", what, name);
}

void
scene_await_closed(struct scene *scene, const char *what)
{
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    while (!scene->raw.gone) {
        raw_peer_progress(&scene->raw, scene->sides);
        if (now_ms() > until)
            ck_abort_msg("%s: the connection stays", what);
    }
}

void
scene_await_outcome(struct scene *scene, enum outcome outcome, uint64_t count,
    int32_t status, const char *what)
{
    static const char *const names[] = {
        "messages_strayed", "messages_malformed", "connections_broken"};
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    if (outcome != ANSWERED) {
        scene_await_counter(scene, names[outcome], count + 1, what);
        if (outcome == BROKEN)
            scene_await_closed(scene, what);
        return;
    }
    while (scene->raw.messages == 0) {
        raw_peer_progress(&scene->raw, scene->sides);
        if (now_ms() > until)
            ck_abort_msg("%s: no answer", what);
    }
    ck_assert_int_eq(scene->raw.got.fragment.status, status);
    ck_assert_uint_eq(scene->raw.got_length, 0);
}

uint64_t
scene_count(struct scene *scene, enum outcome outcome)
{
    return outcome == STRAYED ? side_counter(&scene->victim, "messages_strayed")
           : outcome == MALFORMED
               ? side_counter(&scene->victim, "messages_malformed")
           : outcome == BROKEN
               ? side_counter(&scene->victim, "connections_broken")
               : 0;
}

void
scene_send(struct scene *scene, const struct message *message, uint64_t token)
{
    union ucx_header header = {.fragment = {.head = {.token = token,
                                                .tag = message->tag,
                                                .kind = message->kind,
                                                .to = message->to},
                                   .number = 3,
                                   .mem = message->fragment.mem,
                                   .at = message->fragment.at,
                                   .offset = message->fragment.offset,
                                   .length = message->fragment.length}};

    raw_peer_send(&scene->raw, scene->sides, &header,
        message->header != 0 ? message->header : sizeof(header.head),
        scene_bytes, message->data,
        message->flags != 0 ? message->flags : UCP_AM_SEND_FLAG_EAGER);
}

int
scene_main(int argc, char **argv, const char *name, void (*add)(TCase *tcase))
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create("all");

    if (argc > 1)
        protocol = argv[1];
    add(tcase);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the hostile tests share: a class, a friend that it goes on serving, and a
 * stranger; messages, and what becomes of them. The program is told the protocol
 * of all three. */
#ifndef SCENE_H
#define SCENE_H

#include "stranger.h"

#define SCENE_FRAGMENT 61440U
#define SCENE_MESSAGE 65536U
#define SCENE_LONG (2 * (size_t) SCENE_MESSAGE)

struct scene {
    struct side victim, friend;
    struct side *sides[3];
    na_plugin_addr *to_victim;
    uint32_t port;
    uint32_t trips;
    struct act recv;
    struct stranger stranger;
};

/* What becomes of a message, and with it of its connection. */
enum fate {
    STRAYED,   /* counted; the connection stays */
    MALFORMED, /* likewise */
    BROKEN,    /* counted, and the connection ends */
    ANSWERED,  /* with a status */
};

/* A message by a connection without a hello yet, or after a sound one. */
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
    } fragment;
    uint32_t data;
    uint32_t flags;
    int32_t status; /* ANSWERED */
};

/* Data for messages. */
extern unsigned char scene_bytes[SCENE_LONG];

const char *scene_protocol(void);

void scene_open(struct scene *scene);
void scene_close(struct scene *scene);

/* The friend's next message is the next that the victim receives. */
void scene_trip(struct scene *scene, const char *after);

void scene_say(
    struct scene *scene, const struct message *message, uint64_t token);

/* How often the victim has counted that fate. */
uint64_t scene_count(struct scene *scene, enum fate fate);

/* Waits for it to happen once more than count; ANSWERED: with that status. */
void scene_await_fate(struct scene *scene, enum fate fate, uint64_t count,
    int32_t status, const char *what);

/* Waits until a counter of the victim's is value; it must not exceed it. */
void scene_await_counter(
    struct scene *scene, const char *name, uint64_t value, const char *what);

/* Waits until the stranger's connection has ended. */
void scene_await_gone(struct scene *scene, const char *what);

/* Main of a program. add: adds the cases. */
int scene_main(
    int argc, char **argv, const char *name, void (*add)(TCase *tcase));

#endif /* SCENE_H */

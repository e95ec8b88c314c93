/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers of the hostile tests: a class, a friend that it serves throughout,
 * and a raw peer; messages and their outcomes. The program's argument is the
 * protocol of all three. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include "raw_peer.h"

#define FIXTURE_FRAGMENT 61440U
#define FIXTURE_MESSAGE 65536U
#define FIXTURE_LONG (2 * (size_t) FIXTURE_MESSAGE)

struct fixture {
    struct side victim, friend;
    struct side *sides[3];
    na_plugin_addr *to_victim;
    uint32_t port;
    uint32_t trips;
    struct act recv;
    struct raw_peer raw;
};

/* Outcome of a message, and of its connection. */
enum outcome {
    STRAYED,   /* counted; the connection stays */
    MALFORMED, /* the same */
    BROKEN,    /* counted, and the connection is closed */
    ANSWERED,  /* answered with a status */
};

/* A message on a connection without a hello, or after a valid one. */
struct message {
    const char *what;
    enum outcome outcome;
    uint8_t kind;
    uint8_t header; /* length of its header in bytes; 0: 16 */
    uint8_t to;
    uint32_t tag;
    struct {
        uint64_t mem, at, offset;
        uint32_t length;
    } fragment;
    uint32_t data;
    uint32_t flags;
    int32_t status; /* ANSWERED: the status */
};

/* Data for messages. */
extern unsigned char fixture_bytes[FIXTURE_LONG];

const char *fixture_protocol(void);

void fixture_open(struct fixture *fixture);
void fixture_close(struct fixture *fixture);

/* Checks that the victim's next received message is the friend's. */
void fixture_trip(struct fixture *fixture, const char *after);

void fixture_send(
    struct fixture *fixture, const struct message *message, uint64_t token);

/* How often the victim has counted this outcome. */
uint64_t fixture_count(struct fixture *fixture, enum outcome outcome);

/* Waits until it is counted once more than count; ANSWERED: with that
 * status. */
void fixture_await_outcome(struct fixture *fixture, enum outcome outcome,
    uint64_t count, int32_t status, const char *what);

/* Waits until a counter of the victim is value; fails if it exceeds it. */
void fixture_await_counter(struct fixture *fixture, const char *name,
    uint64_t value, const char *what);

/* Waits until the raw peer's connection is closed. */
void fixture_await_closed(struct fixture *fixture, const char *what);

/* Main of a program. add: adds the cases. */
int fixture_main(
    int argc, char **argv, const char *name, void (*add)(TCase *tcase));

#endif /* FIXTURE_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers of the wire plugin's own tests: classes, operations that record their
 * events, and a server in another process. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <check.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "na_plugin.h"
#include "plugin_user.h"

#define FIXTURE_TEXT 128U
#define FIXTURE_EVENTS 64U
#define FIXTURE_CONTEXTS 4U

struct fixture {
    na_plugin_host host;
    int32_t log_level;
    _Atomic uint32_t warnings; /* lines at WARNING or ERROR */
    char last[256];
    const na_plugin *plugin;
    na_plugin_opened opened;
    const na_plugin_ops *ops;
    na_plugin_class *cls;
    const na_plugin_wait *wait;
    const na_plugin_multi_recv *multi;
    na_plugin_ctx *ctx[FIXTURE_CONTEXTS];
};

/* An operation, followed by the plugin's part. */
struct fixture_op {
    _Alignas(64) _Atomic uint32_t ended; /* set by events */
    _Atomic uint32_t count;              /* number of events */
    na_plugin_event events[FIXTURE_EVENTS];
};

const na_plugin *fixture_load(void);

/* Opens a class with these flags and this many contexts. */
int32_t fixture_try(
    struct fixture *fixture, const char *protocol, uint32_t flags);
void fixture_open(struct fixture *fixture, uint32_t flags, uint32_t contexts);
/* Closes it; fails after an unexpected WARNING or ERROR. */
void fixture_close(struct fixture *fixture);
void fixture_forgive(struct fixture *fixture);

struct fixture_op *fixture_op_new(const struct fixture *fixture);
void *fixture_part(struct fixture_op *op);
/* Resets its events for reuse. */
void fixture_op_reset(struct fixture_op *op);

void fixture_text(const struct fixture *fixture, char text[FIXTURE_TEXT]);
na_plugin_addr *fixture_lookup(const struct fixture *fixture, const char *text);

/* Polls a context once, for at most so many events. */
uint32_t fixture_poll(struct fixture *fixture, uint32_t ctx, uint32_t max);
/* Polls contexts 0 of two classes (the second may be NULL) until the operation
 * has ended. Returns its status. */
int32_t fixture_await(
    struct fixture *fixture, struct fixture *other, struct fixture_op *op);
/* The same for an operation whose submission returned code. */
int32_t fixture_settle(struct fixture *fixture, struct fixture *other,
    struct fixture_op *op, int32_t code);
/* The same, but sleeps instead of polling. */
int32_t fixture_sleep(struct fixture *fixture, struct fixture_op *op);

/* From context 0 to context 0, with a prepared header, followed by length
 * bytes. */
struct fixture_message {
    struct fixture_op *op;
    unsigned char buffer[8192];
};
int32_t fixture_send(struct fixture *fixture, struct fixture_message *message,
    const void *bytes, uint64_t length, na_plugin_addr *peer, uint64_t tag,
    bool expected);
void fixture_post(struct fixture *fixture, struct fixture_message *message);
int32_t fixture_post_expected(struct fixture *fixture,
    struct fixture_message *message, na_plugin_addr *peer, uint64_t tag);
/* What was received after the header. */
const unsigned char *fixture_bytes(
    const struct fixture *fixture, const struct fixture_op *op, uint32_t event);

/* A process with a class that executes the commands in unexpected messages. */
enum fixture_command {
    FIXTURE_ECHO = 'e', /* answers with the same bytes and tag */
    FIXTURE_REGION =
        'r', /* answers with a registration of FIXTURE_REGION_SIZE bytes */
    FIXTURE_SUM = 's',   /* answers with the sum of these bytes */
    FIXTURE_QUIET = 'q', /* no answer */
    FIXTURE_CHILD =
        'c',           /* forks a child that inherits everything and lives on */
    FIXTURE_EXIT = 'x' /* closes and exits */
};
#define FIXTURE_REGION_SIZE (UINT64_C(3) << 20)

struct fixture_server {
    pid_t pid;
    pid_t child; /* after FIXTURE_CHILD */
    int in;
    char address[FIXTURE_TEXT];
};
void fixture_server_start(struct fixture_server *server, bool sleeps);
void fixture_server_join(struct fixture_server *server);

/* Sends a command with payload, and receives the answer. */
const unsigned char *fixture_call(struct fixture *fixture,
    na_plugin_addr *server, struct fixture_message *send,
    struct fixture_message *answer, const void *bytes, uint64_t length,
    uint64_t tag);

#endif /* FIXTURE_H */

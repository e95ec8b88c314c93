/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers of the wire plugin's own tests: classes, operations that record their
 * events, and a server in another process. */
#ifndef RIG_H
#define RIG_H

#include <check.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "na_plugin.h"
#include "plugin_user.h"

#define RIG_TEXT 128U
#define RIG_EVENTS 64U
#define RIG_CONTEXTS 4U

struct rig {
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
    na_plugin_ctx *ctx[RIG_CONTEXTS];
};

/* An operation, followed by the plugin's part. */
struct rig_op {
    _Alignas(64) _Atomic uint32_t ended; /* set by events */
    _Atomic uint32_t count;              /* number of events */
    na_plugin_event events[RIG_EVENTS];
};

const na_plugin *rig_load(void);

/* Opens a class with these flags and this many contexts. */
int32_t rig_try(struct rig *rig, const char *protocol, uint32_t flags);
void rig_open(struct rig *rig, uint32_t flags, uint32_t contexts);
/* Closes it; fails after an unexpected WARNING or ERROR. */
void rig_close(struct rig *rig);
void rig_forgive(struct rig *rig);

struct rig_op *rig_op_new(const struct rig *rig);
void *rig_part(struct rig_op *op);
/* Resets its events for reuse. */
void rig_op_reset(struct rig_op *op);

void rig_text(const struct rig *rig, char text[RIG_TEXT]);
na_plugin_addr *rig_lookup(const struct rig *rig, const char *text);

/* Polls a context once, for at most so many events. */
uint32_t rig_poll(struct rig *rig, uint32_t ctx, uint32_t max);
/* Polls contexts 0 of two classes (the second may be NULL) until the operation
 * has ended. Returns its status. */
int32_t rig_await(struct rig *rig, struct rig *other, struct rig_op *op);
/* The same for an operation whose submission returned code. */
int32_t rig_settle(
    struct rig *rig, struct rig *other, struct rig_op *op, int32_t code);
/* The same, but sleeps instead of polling. */
int32_t rig_sleep(struct rig *rig, struct rig_op *op);

/* From context 0 to context 0, with a prepared header, followed by length
 * bytes. */
struct rig_message {
    struct rig_op *op;
    unsigned char buffer[8192];
};
int32_t rig_send(struct rig *rig, struct rig_message *message,
    const void *bytes, uint64_t length, na_plugin_addr *peer, uint64_t tag,
    bool expected);
void rig_post(struct rig *rig, struct rig_message *message);
int32_t rig_post_expected(struct rig *rig, struct rig_message *message,
    na_plugin_addr *peer, uint64_t tag);
/* What was received after the header. */
const unsigned char *rig_bytes(
    const struct rig *rig, const struct rig_op *op, uint32_t event);

/* A process with a class that executes the commands in unexpected messages. */
enum rig_command {
    RIG_ECHO = 'e',   /* answers with the same bytes and tag */
    RIG_REGION = 'r', /* answers with a registration of RIG_REGION_SIZE bytes */
    RIG_SUM = 's',    /* answers with the sum of these bytes */
    RIG_QUIET = 'q',  /* no answer */
    RIG_CHILD = 'c',  /* forks a child that inherits everything and lives on */
    RIG_EXIT = 'x'    /* closes and exits */
};
#define RIG_REGION_SIZE (UINT64_C(3) << 20)

struct rig_server {
    pid_t pid;
    pid_t child; /* after RIG_CHILD */
    int in;
    char address[RIG_TEXT];
};
void rig_server_start(struct rig_server *server, bool sleeps);
void rig_server_join(struct rig_server *server);

/* Sends a command with payload, and receives the answer. */
const unsigned char *rig_call(struct rig *rig, na_plugin_addr *server,
    struct rig_message *send, struct rig_message *answer, const void *bytes,
    uint64_t length, uint64_t tag);

#endif /* RIG_H */

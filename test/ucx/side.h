/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers of the ucx plugin's tests: the loaded object, a class with one
 * context and a host that records its calls, operations, processes. */
#ifndef SIDE_H
#define SIDE_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "na_plugin.h"

#define SIDE_TEXT 160
#define SIDE_WAIT_MS 20000 /* limit for an expected event */

struct side {
    na_plugin_host host;
    int32_t log_level;
    uint32_t warnings; /* lines at WARNING or ERROR */
    uint32_t errors;
    char last[512];       /* the last of these lines */
    const char *expected; /* part of a line of any level, or NULL */
    uint32_t matched;     /* lines that contained it */
    const char *key;      /* one setting, or NULL */
    const char *value;
    const char *subnet; /* options of the next open */
    uint32_t addr_format;
    na_plugin_opened opened;
    const na_plugin_ops *ops;
    const na_plugin_wait *wait;
    na_plugin_class *cls;
    na_plugin_ctx *ctx;
};

/* An operation and its result. */
struct act {
    struct side *side;
    void *op;
    bool pending;
    na_plugin_event end;
    unsigned char buffer[256];
};

/* The plugin whose path is in NA_UCX_PLUGIN. */
const na_plugin *side_plugin(void);

/* Opens a class with these parts of an info string. Returns open's result.
 * flags: NA_PLUGIN_OPEN_*. host NULL, port -1: not given. */
int32_t side_try(struct side *side, const char *protocol, const char *device,
    const char *host, int32_t port, uint32_t flags);

/* The same with a context; asserts success. */
void side_open(struct side *side, const char *protocol, const char *host,
    int32_t port, uint32_t flags);

void side_close(struct side *side);

/* The class's own address as text. */
void side_name(struct side *side, char name[SIDE_TEXT]);

na_plugin_addr *side_lookup(struct side *side, const char *name);

/* A counter of the class's report. */
uint64_t side_counter(struct side *side, const char *name);

/* Polls once; stores completions in their acts. */
void side_poll(struct side *side);

void act_init(struct act *act, struct side *side);
void act_fini(struct act *act);

/* Submissions. An operation that completed at once or was refused has ended
 * when they return. */
void act_send(struct act *act, bool unexpected, const void *bytes,
    uint64_t length, na_plugin_addr *peer, uint64_t tag);
void act_recv(struct act *act, na_plugin_addr *peer, uint64_t tag);
void act_recv_any(struct act *act);
void act_move(struct act *act, bool put, na_plugin_mem *local,
    na_plugin_mem *remote, uint64_t length, na_plugin_addr *peer);

/* Polls its side, and another one unless that is NULL, until it has ended;
 * fails after SIDE_WAIT_MS. Returns its status. */
int32_t act_await(struct act *act, struct side *other);

/* Monotonic time in milliseconds. */
uint64_t now_ms(void);

/* Forks a process that runs this function and exits. */
pid_t spawn(void (*run)(void *arg), void *arg);

/* Answers each unexpected message of up to 200 bytes with an expected one of
 * the same tag and bytes, until it is killed or gets one of 0 bytes. Writes its
 * name to ready_fd. */
struct echo {
    const char *protocol;
    const char *host;
    int32_t port;
    int ready_fd;
};
void echo_run(void *arg);

/* Starts it in a process, and reads its name. */
pid_t echo_start(
    const char *protocol, const char *host, int32_t port, char name[SIDE_TEXT]);

void echo_stop(pid_t pid, int signal);

/* A round trip of some bytes. Returns OK, or the first error. */
int32_t echo_trip(struct side *side, na_plugin_addr *peer, uint32_t tag);

#endif /* SIDE_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers of the sm plugin's tests: the loaded object, a host for it, a class
 * with contexts, operations, and child processes as peers. */
#ifndef HARNESS_H
#define HARNESS_H

#include <check.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "entries.h"
#include "na_plugin.h"
#include "plugin_user.h"

#define NODE_CONTEXTS 8
#define NODE_EVENTS 1024
#define TEXT 128

/* A class of the plugin, its host, and its contexts. */
struct node {
    na_plugin_host host;
    int32_t log_level;
    _Atomic uint32_t warnings; /* lines at WARNING or ERROR */
    char last_line[512];
    _Atomic uint32_t wakes;
    const char *setting_key; /* one setting, or NULL */
    const char *setting_value;

    const na_plugin *plugin;
    na_plugin_opened opened;
    const na_plugin_ops *ops;
    const na_plugin_wait *wait;
    na_plugin_class *cls;
    na_plugin_ctx *ctx[NODE_CONTEXTS];

    /* polled, not yet taken */
    na_plugin_event events[NODE_CONTEXTS][NODE_EVENTS];
    uint32_t event_count[NODE_CONTEXTS];
};

/* Options of node_open. Zero: a listening class without a name, thread-safe,
 * with one context. */
struct node_options {
    const char *name;
    uint32_t flags; /* in addition to LISTEN */
    bool mute;      /* without LISTEN */
    uint32_t threads;
    uint32_t contexts; /* 0: one */
    uint64_t max_unexpected;
    uint64_t max_expected;
    const char *setting_key;
    const char *setting_value;
    const char *auth_key;
};

/* The plugin whose path is in NA_SM_PLUGIN. */
const na_plugin *load_plugin(void);

/* Fills in a host that counts and records its calls. */
void node_host(struct node *node);

/* Opens the plugin with these options. Returns open's result. */
int32_t node_try(struct node *node, const struct node_options *options);

/* The same; asserts success, also for the contexts. NULL: all zero. */
void node_open(struct node *node, const struct node_options *options);

/* Destroys contexts and class; fails on unexpected warnings. */
void node_close(struct node *node);

/* Clears expected warnings. Returns their number. */
uint32_t node_warnings(struct node *node);

/* A counter of the class's report. */
uint64_t node_counter(struct node *node, const char *name);

/* Allocates zeroed memory for one operation. */
void *op_new(const struct node *node);

/* The class's own address as a string. */
void self_string(const struct node *node, char text[TEXT]);

/* Looks up a string; asserts success. */
na_plugin_addr *lookup(const struct node *node, const char *text);

/* Polls all contexts of all classes of this process once, and keeps the
 * events. */
void pump(void);

/* Polls until context number index of node has an event, and returns it. Fails
 * after five seconds. */
na_plugin_event await_event(struct node *node, uint32_t index);

/* The same for one operation; other events are kept. */
na_plugin_event await_op(struct node *node, uint32_t index, const void *op);

/* The same; the event must be a message with this length and tag, with or
 * without a source. */
na_plugin_event await_message(struct node *node, uint32_t index, const void *op,
    uint64_t length, uint64_t tag, bool source);

/* Polls for this long, and fails if the context gets an event. */
void expect_silence(struct node *node, uint32_t index, uint32_t milliseconds);

/* Posts a receive on context 0. The caller frees op and buffer. */
void *post_unexpected(struct node *node, void *buffer, uint64_t length);
void *post_expected(struct node *node, void *buffer, uint64_t length,
    na_plugin_addr *peer, uint64_t tag);

/* Sends, and waits if the send is pending. Returns its status. */
int32_t send_unexpected(struct node *node, const void *data, uint64_t length,
    na_plugin_addr *peer, uint64_t tag);
int32_t send_expected(struct node *node, const void *data, uint64_t length,
    na_plugin_addr *peer, uint64_t tag);

/* A child process. It is forked before the plugin opens anything, runs body,
 * and exits with its result. */
struct child {
    pid_t pid;
    int in;  /* read end: lines from the child */
    int out; /* write end: lines to the child */
};

/* The child's ends of the pipes. */
struct parent {
    int in;
    int out;
    const void *arg;
};

typedef int (*child_body)(const struct parent *parent);

struct child child_start(child_body body, const void *arg);

/* Send and receive lines of up to TEXT bytes, the zero included. */
void send_line(int fd, const char *text);
void recv_line(int fd, char text[TEXT]);
void expect_line(int fd, const char *text); /* fails on any other line */

/* Waits for its exit; asserts status 0. */
void child_join(struct child *child);

/* Kills and reaps it; or waits until it has killed itself. */
void child_kill(struct child *child);
void child_reap(struct child *child);

/* Mappings of peers' memory, and of rings. */
uint32_t count_mappings(void);

/* Whether processes may access one another's memory here, so that puts and gets
 * do not need the owner to poll. */
bool kernel_copies(void);

/* Named sockets of this process, or of this run of the program. */
uint32_t count_sockets(void);

/* base with a suffix that is unique to this run; with "sm://" in front if
 * `string`. Valid until the eighth call after this one. */
const char *own_name(const char *base);
const char *own_address(const char *base);

/* Runs the cases. Returns the result of main. */
int run_cases(const char *name, TCase *const *cases, uint32_t count);

#endif /* HARNESS_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the sm plugin share: the loaded object, a host for it, a
 * class with contexts, operations, and other processes to talk with. */
#ifndef HARNESS_H
#define HARNESS_H

#include <check.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

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
    const char *setting_key; /* one setting, NULL without */
    const char *setting_value;

    const na_plugin *plugin;
    na_plugin_opened opened;
    const na_plugin_ops *ops;
    const na_plugin_wait *wait;
    na_plugin_class *cls;
    na_plugin_ctx *ctx[NODE_CONTEXTS];

    /* polled, not yet awaited */
    na_plugin_event events[NODE_CONTEXTS][NODE_EVENTS];
    uint32_t event_count[NODE_CONTEXTS];
};

/* How node_open opens; zero is a listening class without a name, thread-safe,
 * with one context. */
struct node_options {
    const char *name;
    uint32_t flags; /* besides LISTEN */
    bool mute;      /* without LISTEN */
    uint32_t threads;
    uint32_t contexts; /* 0: one */
    uint64_t max_unexpected;
    uint64_t max_expected;
    const char *setting_key;
    const char *setting_value;
    const char *auth_key;
};

/* The plugin, from the path in NA_SM_PLUGIN. */
const na_plugin *load_plugin(void);

/* Fills in a host that counts and remembers what it is told. */
void node_host(struct node *node);

/* Opens the plugin with these options: what open returned. */
int32_t node_try(struct node *node, const struct node_options *options);

/* The same, and it must work, the contexts too. NULL: all zero. */
void node_open(struct node *node, const struct node_options *options);

/* Destroys contexts and class; fails if there were warnings. */
void node_close(struct node *node);

/* Forgets warnings that were expected: how many there were. */
uint32_t node_warnings(struct node *node);

/* A counter of the class's report. */
uint64_t node_counter(struct node *node, const char *name);

/* Memory for one operation, zeroed. */
void *op_new(const struct node *node);

/* The class's own address as a string. */
void self_string(const struct node *node, char text[TEXT]);

/* The address of a string; must work. */
na_plugin_addr *lookup(const struct node *node, const char *text);

/* Polls each context of each class of this process once, and keeps the
 * events. */
void pump(void);

/* Pumps until context number index of node has an event, or fails after five
 * seconds: the event. */
na_plugin_event await_event(struct node *node, uint32_t index);

/* The same for one operation; the events of others stay. */
na_plugin_event await_op(struct node *node, uint32_t index, const void *op);

/* The same, and it must be a message of this length and tag, with a source or
 * without. */
na_plugin_event await_message(struct node *node, uint32_t index, const void *op,
    uint64_t length, uint64_t tag, bool source);

/* Pumps for this long, and fails if the context has an event. */
void expect_silence(struct node *node, uint32_t index, uint32_t milliseconds);

/* Posts a receive on context 0. The memory of op and buffer is malloc's. */
void *post_unexpected(struct node *node, void *buffer, uint64_t length);
void *post_expected(struct node *node, void *buffer, uint64_t length,
    na_plugin_addr *peer, uint64_t tag);

/* Sends, and waits for the end if it is pending; what it ended with. */
int32_t send_unexpected(struct node *node, const void *data, uint64_t length,
    na_plugin_addr *peer, uint64_t tag);
int32_t send_expected(struct node *node, const void *data, uint64_t length,
    na_plugin_addr *peer, uint64_t tag);

/* Another process. It begins before anything of the plugin is opened, runs
 * body, and ends with its result. */
struct child {
    pid_t pid;
    int in;  /* what it tells */
    int out; /* what it is told */
};

/* What a child has of its parent. */
struct parent {
    int in;
    int out;
    const void *arg;
};

typedef int (*child_body)(const struct parent *parent);

struct child child_start(child_body body, const void *arg);

/* Lines between the two: up to TEXT bytes with the zero. */
void tell(int fd, const char *text);
void hear(int fd, char text[TEXT]);
void hear_is(int fd, const char *text); /* fails if it is another one */

/* Waits for its end: it must have returned 0. */
void child_join(struct child *child);

/* Kills and reaps it; or waits until it has killed itself. */
void child_kill(struct child *child);
void child_reap(struct child *child);

/* Descriptors of this process; and what it has mapped of its peers, and of
 * rings. */
uint32_t count_descriptors(void);
uint32_t count_mappings(void);

/* Whether processes may copy from and to one another's memory here, so that puts
 * and gets do not need the owner of the memory to poll. */
bool kernel_copies(void);

/* Sockets with names of this process, or of this run of the program. */
uint32_t count_sockets(void);

/* base with a number that no other run of a test program has; behind "sm://" if
 * wanted. Valid until the eighth call after this one. */
const char *own_name(const char *base);
const char *own_address(const char *base);

/* Runs the cases; the result of main. */
int run_cases(const char *name, TCase *const *cases, uint32_t count);

#endif /* HARNESS_H */

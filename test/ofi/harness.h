/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers of the ofi plugin's tests: the loaded object, a host that records, a
 * class with a context, messages. */
#ifndef HARNESS_H
#define HARNESS_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>

#include "na_plugin.h"
#include "plugin_user.h"
#include "runner.h"

#define TEXT 400
#define LINE 1024

/* A class of the plugin, its host, and its context. */
struct node {
    na_plugin_host host;
    int32_t log_level;
    uint32_t errors;   /* lines at level ERROR */
    uint32_t warnings; /* at level WARNING */
    uint32_t left;     /* classes that were closed with leftovers */
    char last_error[LINE];
    const char *word;        /* or NULL */
    uint32_t matched;        /* lines below ERROR that contained the word */
    const char *setting_key; /* one setting, or NULL */
    const char *setting_value;

    const na_plugin *plugin;
    na_plugin_opened opened;
    const na_plugin_ops *ops;
    na_plugin_class *cls;
    na_plugin_ctx *ctx;
};

/* Options of node_open. Zero: a listening class over tcp at 127.0.0.1, at a
 * port of the provider's choice. */
struct node_options {
    const char *protocol;
    const char *host;
    const char *device;
    int32_t port;
    uint32_t flags;
    uint32_t addr_format;
    const char *subnet;
    uint64_t max_unexpected;
    uint64_t max_expected;
    const char *setting_key;
    const char *setting_value;
    uint32_t max_contexts;
    uint32_t traffic_class;
    uint32_t thread_mode;
    uint32_t info_size;   /* 0: default */
    uint32_t opened_size; /* the same */
    const char *auth_key;
    const char *word; /* word to watch the log for */
    bool anywhere;    /* no host part */
};

/* The plugin whose path is in NA_OFI_PLUGIN. */
const na_plugin *load_plugin(void);

/* Loads libfabric in the process that cases are forked from, since loading
 * takes a moment. Opens nothing. */
void warm_up(void);

/* Opens the plugin with these options. Returns open's result. */
int32_t node_try(struct node *node, const struct node_options *options);

/* Whether opening was refused with a message that names an alternative: shm of
 * some versions of libfabric. Prints that cases are skipped. */
bool is_shm_refusal(const struct node *node, int32_t code);
bool is_refused(const struct node_options *options);

/* The same; asserts success, also for the context. NULL: all zero. */
void node_open(struct node *node, const struct node_options *options);
void node_close(struct node *node);

/* A counter of the class's report. */
uint64_t node_counter(struct node *node, const char *name);

/* Its text of that name, "" without one. */
const char *node_text(const struct node *node, const char *name);

/* The class's own address as a string. */
void self_string(const struct node *node, char text[TEXT]);

/* Looks up a string; asserts success. */
na_plugin_addr *lookup(const struct node *node, const char *text);

/* Allocates zeroed memory for one operation. */
void *op_new(const struct node *node);

/* Polls once. Returns whether there was an event. */
bool poll_one(struct node *node, na_plugin_event *event);

#endif /* HARNESS_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads the plugin as the core would, with a host that records what it is
 * given. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

const na_plugin *
load_plugin(void)
{
    return plugin_load("NA_OFI_PLUGIN");
}

static void
host_log(const na_plugin_host *host, int32_t level, const char *file,
    uint32_t line, const char *text)
{
    struct node *node = host->priv;
    node->warnings += level == NA_PLUGIN_LOG_WARNING;
    node->left += strncmp(text, "closed with ", 12) == 0;
    if (level == NA_PLUGIN_LOG_ERROR) {
        node->errors++;
        snprintf(node->last_error, sizeof(node->last_error), "%s", text);
    } else if (node->word != NULL && strstr(text, node->word) != NULL)
        node->matched++;
    if (getenv("OFI_TEST_LOG") != NULL)
        fprintf(stderr, "[%d] %d %s:%u %s\n", (int) getpid(), level, file, line,
            text);
}

static uint64_t
host_number(const na_plugin_host *host, const char *key)
{
    const struct node *node = host->priv;

    return plugin_setting(
        node->plugin, key, node->setting_key, node->setting_value);
}

static void
prepare(struct node *node)
{
    memset(node, 0, sizeof(*node));
    node->log_level = NA_PLUGIN_LOG_DEBUG;
    plugin_host(&node->host, node, &node->log_level, host_log);
    node->host.number = host_number;
    node->plugin = load_plugin();
}

static void
forget_device(void *arg, const na_plugin_device *device)
{
}

void
warm_up(void)
{
    struct node node;

    prepare(&node);
    node.plugin->info(&node.host, "tcp", NULL, forget_device);
}

int32_t
node_try(struct node *node, const struct node_options *options)
{
    prepare(node);
    node->setting_key = options->setting_key;
    node->setting_value = options->setting_value;
    node->word = options->word;
    const char *host = options->host != NULL ? options->host
                       : options->anywhere   ? NULL
                                             : "127.0.0.1";
    na_plugin_open_info info = {
        .size = options->info_size != 0 ? options->info_size : sizeof(info),
        .flags = options->flags | NA_PLUGIN_OPEN_LISTEN,
        .protocol = options->protocol != NULL ? options->protocol : "tcp",
        .host = host,
        .device = options->device,
        .port = options->port != 0 ? options->port : -1,
        .ip_subnet = options->subnet,
        .addr_format = options->addr_format,
        .max_unexpected_size = options->max_unexpected,
        .max_expected_size = options->max_expected,
        .max_contexts = options->max_contexts != 0 ? options->max_contexts : 1,
        .traffic_class = options->traffic_class,
        .thread_mode = options->thread_mode,
        .auth_key = options->auth_key,
    };
    node->opened.size =
        options->opened_size != 0 ? options->opened_size : sizeof(node->opened);
    int32_t ret = node->plugin->open(&node->host, &info, &node->opened);
    node->ops = node->opened.ops;
    node->cls = node->opened.cls;
    return ret;
}

bool
is_shm_refusal(const struct node *node, int32_t code)
{
    bool refused = code == NA_PLUGIN_E_PROTONOSUPPORT &&
                   strstr(node->last_error, "use na+sm") != NULL;

    if (refused)
        printf("skipped: %s\n", node->last_error);
    return refused;
}

bool
is_refused(const struct node_options *options)
{
    struct node node = {0};
    int32_t ret = node_try(&node, options);

    if (ret == NA_PLUGIN_OK)
        node.plugin->close(node.cls);
    return is_shm_refusal(&node, ret);
}

void
node_open(struct node *node, const struct node_options *options)
{
    static const struct node_options plain;
    int32_t ret = node_try(node, options != NULL ? options : &plain);

    ck_assert_msg(ret == NA_PLUGIN_OK, "%d: %s", ret, node->last_error);
    ck_assert_int_eq(
        node->ops->ctx_create(node->cls, 0, node, &node->ctx), NA_PLUGIN_OK);
}

void
node_close(struct node *node)
{
    if (node->ctx != NULL)
        node->ops->ctx_destroy(node->ctx);
    node->plugin->close(node->cls);
}

uint64_t
node_counter(struct node *node, const char *name)
{
    return plugin_counter(node->ops, node->cls, name);
}

const char *
node_text(const struct node *node, const char *name)
{
    return plugin_text(node->ops, node->cls, name);
}

void
self_string(const struct node *node, char text[TEXT])
{
    plugin_self(node->ops, node->cls, text, TEXT);
}

na_plugin_addr *
lookup(const struct node *node, const char *text)
{
    return plugin_lookup(node->ops, node->cls, text);
}

void *
op_new(const struct node *node)
{
    return plugin_op(&node->opened);
}

bool
poll_one(struct node *node, na_plugin_event *event)
{
    int32_t count = node->ops->poll(node->ctx, event, 1);
    /* libcheck records each passing assertion, which is slow in such a loop. */
    if (count < 0)
        ck_abort_msg("poll returned %d", count);
    return count == 1;
}

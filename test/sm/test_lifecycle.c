/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening, closing, contexts: limits, refusals, leaks. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

START_TEST(plugin_symbol_describes_it)
{
    const na_plugin *plugin = load_plugin();

    ck_assert_uint_eq(plugin->magic, NA_PLUGIN_MAGIC);
    ck_assert_uint_eq(plugin->abi_major, NA_PLUGIN_ABI_MAJOR);
    ck_assert_uint_eq(plugin->size, sizeof(*plugin));
    ck_assert_str_eq(plugin->name, "na");
    ck_assert_str_eq(plugin->version, "0.1.0");
    ck_assert_str_eq(plugin->protocols[0], "sm");
    ck_assert_ptr_null(plugin->protocols[1]);
    ck_assert_uint_eq(plugin->flags, NA_PLUGIN_OPAQUE_NAME);
    ck_assert_int_eq(plugin->priority, 100);
}
END_TEST

static void
found(void *arg, const na_plugin_device *device)
{
    uint32_t *count = arg;
    ck_assert_str_eq(device->protocol, "sm");
    ck_assert_str_eq(device->name, "sm");
    (*count)++;
}

START_TEST(plugin_info_lists_one_device)
{
    struct node node;
    uint32_t count = 0;
    node_host(&node);
    const na_plugin *plugin = load_plugin();

    ck_assert_int_eq(plugin->info(&node.host, "sm", &count, found), 0);
    ck_assert_int_eq(plugin->info(&node.host, NULL, &count, found), 0);
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(plugin->info(&node.host, "tcp", &count, found),
        NA_PLUGIN_E_PROTONOSUPPORT);
    ck_assert_uint_eq(count, 2);
}
END_TEST

START_TEST(open_default_states_its_limits)
{
    struct node node;
    node_open(&node, NULL);

    ck_assert_uint_eq(node.opened.max_unexpected_size, 4096);
    ck_assert_uint_eq(node.opened.max_expected_size, 4096);
    ck_assert_uint_eq(node.opened.unexpected_header_size, 0);
    ck_assert_uint_eq(node.opened.expected_header_size, 0);
    ck_assert_uint_eq(node.opened.max_tag, UINT32_MAX);
    ck_assert_uint_eq(node.opened.max_segments, 1024);
    ck_assert_uint_eq(node.opened.max_contexts, 256);
    ck_assert_uint_eq(node.opened.features,
        NA_PLUGIN_FEATURE_NODE_LOCAL |
            (kernel_copies() ? NA_PLUGIN_FEATURE_RMA_NATIVE : 0));
    ck_assert_uint_le(node.opened.op_align, 64);
    node_close(&node);
}
END_TEST

START_TEST(open_hints_are_honoured_up_to_64_kib)
{
    struct node node;
    node_open(&node,
        &(struct node_options){.max_unexpected = 512, .max_expected = 1 << 20});

    ck_assert_uint_eq(node.opened.max_unexpected_size, 512);
    ck_assert_uint_eq(node.opened.max_expected_size, 65536);
    node_close(&node);
}
END_TEST

static void
expect_refusal(const struct node_options *options, int32_t code)
{
    static struct node node;
    uint32_t descriptors = count_descriptors();
    uint32_t sockets = count_sockets();

    ck_assert_int_eq(node_try(&node, options), code);
    ck_assert_uint_eq(node_warnings(&node), 1);
    ck_assert_uint_eq(count_descriptors(), descriptors);
    ck_assert_uint_eq(count_sockets(), sockets);
}

START_TEST(open_invalid_flags_and_names_are_refused)
{
    load_plugin();
    expect_refusal(
        &(struct node_options){.flags = 0x100}, NA_PLUGIN_E_INVALID_ARG);
    expect_refusal(
        &(struct node_options){.name = "a/b"}, NA_PLUGIN_E_INVALID_ARG);
    expect_refusal(
        &(struct node_options){.name = "white space"}, NA_PLUGIN_E_INVALID_ARG);
    char name[70];
    memset(name, 'x', sizeof(name));
    name[65] = '\0';
    expect_refusal(
        &(struct node_options){.name = name}, NA_PLUGIN_E_INVALID_ARG);
}
END_TEST

START_TEST(open_unknown_thread_flags_are_ignored)
{
    struct node node;

    node_open(&node, &(struct node_options){.threads = 4});
    ck_assert_uint_eq(node_warnings(&node), 0);
    node_close(&node);
}
END_TEST

START_TEST(open_settings_show_in_the_report)
{
    struct node node;
    node_open(&node, &(struct node_options){.setting_key = "sm.ring_size",
                         .setting_value = "262144"});
    ck_assert_uint_eq(node_counter(&node, "ring_bytes"), 262144);
    node_close(&node);

    node_open(&node, &(struct node_options){.max_expected = 65536});
    ck_assert_uint_ge(node_counter(&node, "ring_bytes"), 2 * 65536);
    node_close(&node);
}
END_TEST

/* Counts a class's log lines about ignored options. */
static uint32_t mentions;

static void
count_mentions(const na_plugin_host *host, int32_t level, const char *file,
    uint32_t line, const char *text)
{
    static const char *const words[] = {"device memory", "no subnet",
        "not of IP", "no traffic classes", "contexts expected"};

    (void) host, (void) file, (void) line;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        mentions +=
            level == NA_PLUGIN_LOG_INFO && strstr(text, words[i]) != NULL;
}

START_TEST(open_ignored_options_are_logged_once_each)
{
    static struct node node;
    static const na_plugin_open_info wishes[] = {
        {.flags = NA_PLUGIN_OPEN_MEM_DEVICE}, {.ip_subnet = "10.1.0.0/16"},
        {.addr_format = NA_PLUGIN_ADDR_IPV4},
        {.addr_format = NA_PLUGIN_ADDR_IPV6},
        {.traffic_class = NA_PLUGIN_TC_LOW_LATENCY}, {.max_contexts = 1000},
        /* which are honoured, or need no line */
        {.auth_key = "a key"}, {.addr_format = NA_PLUGIN_ADDR_NATIVE},
        {.traffic_class = NA_PLUGIN_TC_BEST_EFFORT}, {.max_contexts = 256}};
    na_plugin_open_info info = wishes[_i];

    node_host(&node);
    node.host.log = count_mentions;
    node.opened.size = sizeof(node.opened);
    info.size = sizeof(info);
    info.protocol = "sm";
    info.port = -1;
    info.max_contexts = info.max_contexts != 0 ? info.max_contexts : 1;
    node.plugin = load_plugin();
    ck_assert_int_eq(
        node.plugin->open(&node.host, &info, &node.opened), NA_PLUGIN_OK);
    ck_assert_uint_eq(mentions, _i < 6);
    node.plugin->close(node.opened.cls);
    ck_assert_uint_eq(mentions, _i < 6);
}
END_TEST

START_TEST(open_no_block_has_no_wait_extension)
{
    struct node node;
    node_open(&node, &(struct node_options){.flags = NA_PLUGIN_OPEN_NO_BLOCK});
    ck_assert_ptr_null(node.wait);
    ck_assert_ptr_null(node.ops->extension(node.cls, "com.example.x/1"));
    node_close(&node);
}
END_TEST

START_TEST(close_leaks_nothing)
{
    static struct node a, b;
    load_plugin();
    uint32_t descriptors = count_descriptors();
    uint32_t sockets = count_sockets();
    char text[TEXT];
    char buffer[64];

    for (int round = 0; round < 3; round++) {
        node_open(&a,
            &(struct node_options){.name = own_name("leaves"), .contexts = 3});
        node_open(&b, &(struct node_options){.mute = true});
        self_string(&a, text);
        na_plugin_addr *addr = lookup(&b, text);
        void *op = post_unexpected(&a, buffer, sizeof(buffer));
        ck_assert_int_eq(send_unexpected(&b, "hello", 5, addr, 7), 0);
        na_plugin_event event = await_message(&a, 0, op, 5, 7, true);
        ck_assert_int_eq(send_expected(&a, "there", 5, event.source, 9), 0);
        ck_assert_uint_gt(count_mappings(), 0);
        a.ops->addr_free(a.cls, event.source);
        b.ops->addr_free(b.cls, addr);
        free(op);
        node_close(&b);
        node_close(&a);
        ck_assert_uint_eq(count_descriptors(), descriptors);
        ck_assert_uint_eq(count_sockets(), sockets);
        ck_assert_uint_eq(count_mappings(), 0);
    }
}
END_TEST

START_TEST(context_of_every_number_can_be_created)
{
    static na_plugin_ctx *all[256];
    struct node node;
    node_open(&node, NULL);

    all[0] = node.ctx[0];
    for (uint32_t i = 255; i > 0; i--)
        ck_assert_int_eq(
            node.ops->ctx_create(node.cls, i, &node, &all[i]), NA_PLUGIN_OK);
    na_plugin_ctx *other;
    ck_assert_int_eq(node.ops->ctx_create(node.cls, 256, &node, &other),
        NA_PLUGIN_E_OVERFLOW);
    ck_assert_int_eq(
        node.ops->ctx_create(node.cls, 7, &node, &other), NA_PLUGIN_E_EXIST);
    ck_assert_uint_eq(node_warnings(&node), 2);
    for (uint32_t i = 1; i < 256; i++)
        node.ops->ctx_destroy(all[i]);
    ck_assert_int_eq(
        node.ops->ctx_create(node.cls, 255, &node, &other), NA_PLUGIN_OK);
    node.ops->ctx_destroy(other);
    node_close(&node);
}
END_TEST

START_TEST(buffer_allocated_is_aligned)
{
    struct node node;
    node_open(&node, NULL);
    void *buffer;
    void *data;

    ck_assert_int_eq(
        node.ops->buf_alloc(node.cls, 1000, NA_PLUGIN_BUF_SEND, &buffer, &data),
        NA_PLUGIN_OK);
    ck_assert_uint_eq((uintptr_t) buffer % 64, 0);
    memset(buffer, 1, 1000);
    ck_assert_int_eq(
        node.ops->buf_init(node.cls, buffer, 1000, NA_PLUGIN_MSG_EXPECTED), 0);
    node.ops->buf_free(node.cls, buffer, data);
    ck_assert_int_eq(node.ops->buf_alloc(node.cls, UINT64_MAX,
                         NA_PLUGIN_BUF_SEND, &buffer, &data),
        NA_PLUGIN_E_NOMEM);
    node_close(&node);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("lifecycle");
    tcase_add_test(cases, plugin_symbol_describes_it);
    tcase_add_test(cases, plugin_info_lists_one_device);
    tcase_add_test(cases, open_default_states_its_limits);
    tcase_add_test(cases, open_hints_are_honoured_up_to_64_kib);
    tcase_add_test(cases, open_invalid_flags_and_names_are_refused);
    tcase_add_test(cases, open_unknown_thread_flags_are_ignored);
    tcase_add_test(cases, open_settings_show_in_the_report);
    tcase_add_loop_test(
        cases, open_ignored_options_are_logged_once_each, 0, 10);
    tcase_add_test(cases, open_no_block_has_no_wait_extension);
    tcase_add_test(cases, close_leaks_nothing);
    tcase_add_test(cases, context_of_every_number_can_be_created);
    tcase_add_test(cases, buffer_allocated_is_aligned);
    return run_cases("lifecycle", &cases, 1);
}

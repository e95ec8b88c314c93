/* SPDX-License-Identifier: BSD-3-Clause */
/* The copy of a plugin's operations table: present and missing entries, and
 * tables of other lengths. */
#include "na/class.h"

#include "log_watch.h"
#include "runner.h"

#include <check.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef void (*any_func)(void);

#define ENTRY(member, needed)                                                  \
    {                                                                          \
#member, offsetof(na_plugin_ops, member), needed                       \
    }

static const struct {
    const char *name;
    size_t offset;
    bool needed;
} entries[] = {
    ENTRY(ctx_create, true),
    ENTRY(ctx_destroy, true),
    ENTRY(addr_self, true),
    ENTRY(addr_lookup, true),
    ENTRY(addr_dup, true),
    ENTRY(addr_free, true),
    ENTRY(addr_equal, true),
    ENTRY(addr_hash, true),
    ENTRY(addr_to_string, false),
    ENTRY(addr_serialize, false),
    ENTRY(addr_deserialize, false),
    ENTRY(addr_forget, false),
    ENTRY(buf_alloc, true),
    ENTRY(buf_free, true),
    ENTRY(buf_init, true),
    ENTRY(send_unexpected, true),
    ENTRY(recv_unexpected, true),
    ENTRY(send_expected, true),
    ENTRY(recv_expected, true),
    ENTRY(mem_register, false),
    ENTRY(mem_deregister, false),
    ENTRY(mem_serialize, false),
    ENTRY(mem_deserialize, false),
    ENTRY(mem_remote_free, false),
    ENTRY(put, false),
    ENTRY(get, false),
    ENTRY(poll, true),
    ENTRY(cancel, true),
    ENTRY(extension, false),
};

#define COUNT (sizeof entries / sizeof entries[0])

/* Never called: placeholders for a plugin's functions. */
static void
plugin_func(void)
{
    abort();
}

/* The address of a function as stored in a table. */
static any_func
entry_at(const void *table, size_t i)
{
    any_func func;

    memcpy(&func, (const char *) table + entries[i].offset, sizeof func);
    return func;
}

static void
entry_set(void *table, size_t i, any_func func)
{
    memcpy((char *) table + entries[i].offset, &func, sizeof func);
}

static na_plugin_ops
full_table(void)
{
    na_plugin_ops ops = {.size = sizeof ops};

    for (size_t i = 0; i < COUNT; i++)
        entry_set(&ops, i, plugin_func);
    return ops;
}

static void
begin(void)
{
    log_watch_begin();
    log_watch_install();
}

START_TEST(ops_full_table_is_copied)
{
    na_plugin_ops plugin_ops = full_table(), ops;
    const char *missing = "untouched";

    ck_assert_int_eq(na_ops_copy(&ops, &plugin_ops, &missing), NA_SUCCESS);
    ck_assert_str_eq(missing, "untouched");
    ck_assert_uint_eq(ops.size, sizeof ops);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert_msg(entry_at(&ops, i) == plugin_func, "%s", entries[i].name);
}
END_TEST

START_TEST(ops_missing_entry_is_stub_or_named)
{
    na_plugin_ops plugin_ops = full_table(), ops;
    const char *missing = NULL;
    na_return_t ret;

    entry_set(&plugin_ops, (size_t) _i, NULL);
    ret = na_ops_copy(&ops, &plugin_ops, &missing);
    if (entries[_i].needed) {
        ck_assert_int_eq(ret, NA_INVALID_ARG);
        ck_assert_str_eq(missing, entries[_i].name);
        return;
    }
    ck_assert_int_eq(ret, NA_SUCCESS);
    ck_assert_ptr_null(missing);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert((entry_at(&ops, i) == plugin_func) == (i != (size_t) _i));
    ck_assert(entry_at(&ops, (size_t) _i) != NULL);
}
END_TEST

START_TEST(ops_several_missing_names_first)
{
    na_plugin_ops plugin_ops = {.size = sizeof plugin_ops}, ops;
    const char *missing = NULL;

    ck_assert_int_eq(na_ops_copy(&ops, &plugin_ops, &missing), NA_INVALID_ARG);
    ck_assert_str_eq(missing, "ctx_create");
}
END_TEST

START_TEST(ops_stubs_return_not_supported)
{
    na_plugin_ops plugin_ops = full_table(), ops;
    na_plugin_addr *addr = NULL;
    na_plugin_mem *mem = NULL;
    const char *missing;
    uint64_t size = 5;

    for (size_t i = 0; i < COUNT; i++)
        if (!entries[i].needed)
            entry_set(&plugin_ops, i, NULL);
    ck_assert_int_eq(na_ops_copy(&ops, &plugin_ops, &missing), NA_SUCCESS);
    ck_assert_int_eq(ops.addr_to_string(NULL, NULL, NULL, &size),
        NA_PLUGIN_E_OPNOTSUPPORTED);
    ck_assert_int_eq(ops.addr_serialize(NULL, NULL, NULL, &size),
        NA_PLUGIN_E_OPNOTSUPPORTED);
    ck_assert_int_eq(
        ops.addr_deserialize(NULL, "", 0, &addr), NA_PLUGIN_E_OPNOTSUPPORTED);
    ops.addr_forget(NULL, NULL);
    ck_assert_int_eq(ops.mem_register(NULL,
                         &(na_plugin_mem_info){
                             sizeof(na_plugin_mem_info), 0, NULL, 0, 0, 0, 0},
                         &mem),
        NA_PLUGIN_E_OPNOTSUPPORTED);
    ops.mem_deregister(NULL, NULL);
    ck_assert_int_eq(
        ops.mem_serialize(NULL, NULL, NULL, &size), NA_PLUGIN_E_OPNOTSUPPORTED);
    ck_assert_int_eq(
        ops.mem_deserialize(NULL, "", 0, &mem), NA_PLUGIN_E_OPNOTSUPPORTED);
    ops.mem_remote_free(NULL, NULL);
    ck_assert_int_eq(ops.put(NULL, NULL, NULL, 0, NULL, 0, 0, NULL, 0, 0),
        NA_PLUGIN_E_OPNOTSUPPORTED);
    ck_assert_int_eq(ops.get(NULL, NULL, NULL, 0, NULL, 0, 0, NULL, 0, 0),
        NA_PLUGIN_E_OPNOTSUPPORTED);
    ck_assert_ptr_null(ops.extension(NULL, NA_PLUGIN_WAIT_ID));
    /* On an error, outputs are untouched. */
    ck_assert(!addr && !mem && size == 5);
}
END_TEST

/* A table that ends before entry i, in an allocation of exactly its size;
 * partial entries do not count. */
static void
copy_short(size_t i, size_t part)
{
    size_t size = entries[i].offset + part, first = i;
    na_plugin_ops full = full_table(), ops;
    const char *missing = NULL;
    na_plugin_ops *cut = malloc(size);
    na_return_t ret;

    ck_assert_ptr_nonnull(cut);
    full.size = (uint32_t) size;
    memcpy(cut, &full, size);
    ret = na_ops_copy(&ops, cut, &missing);
    free(cut);
    while (first < COUNT && !entries[first].needed)
        first++;
    if (first < COUNT) {
        ck_assert_int_eq(ret, NA_INVALID_ARG);
        ck_assert_str_eq(missing, entries[first].name);
        return;
    }
    ck_assert_int_eq(ret, NA_SUCCESS);
    for (size_t j = 0; j < COUNT; j++) {
        ck_assert((entry_at(&ops, j) == plugin_func) == (j < i));
        ck_assert(entry_at(&ops, j) != NULL);
    }
    ck_assert_uint_eq(ops.size, sizeof ops);
}

START_TEST(ops_short_table_is_filled_up)
{
    copy_short((size_t) _i, 0);
    copy_short((size_t) _i, 1);
    copy_short((size_t) _i, sizeof(any_func) - 1);
}
END_TEST

START_TEST(ops_long_table_is_truncated)
{
    struct {
        na_plugin_ops ops;
        any_func later[4];
    } newer = {
        full_table(), {plugin_func, plugin_func, plugin_func, plugin_func}};
    struct {
        na_plugin_ops ops;
        any_func behind;
    } ours = {.behind = NULL};
    const char *missing;

    newer.ops.size = sizeof newer;
    ck_assert_int_eq(na_ops_copy(&ours.ops, &newer.ops, &missing), NA_SUCCESS);
    ck_assert(ours.behind == NULL);
    ck_assert_uint_eq(ours.ops.size, sizeof ours.ops);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert(entry_at(&ours.ops, i) == plugin_func);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("ops");

    tcase_add_checked_fixture(tcase, begin, log_watch_check);
    tcase_add_test(tcase, ops_full_table_is_copied);
    tcase_add_loop_test(tcase, ops_missing_entry_is_stub_or_named, 0, COUNT);
    tcase_add_test(tcase, ops_several_missing_names_first);
    tcase_add_test(tcase, ops_stubs_return_not_supported);
    tcase_add_loop_test(tcase, ops_short_table_is_filled_up, 0, COUNT);
    tcase_add_test(tcase, ops_long_table_is_truncated);
    return run_tcase("ops", tcase);
}

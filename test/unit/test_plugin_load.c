/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared objects: every reason to reject one, unloading, and plugins registered
 * by the program. */
#include "plugin/load.h"

#include "fixture.h"
#include "na_plugin.h"
#include "plugin/manifest.h"
#include "plugin/resolve.h"
#include "runner.h"

#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int) (sizeof(array) / sizeof(array)[0]))

extern const na_plugin na_plugin_v1_probe; /* named built_in */

/* A variant of the test plugin, and why it is rejected. */
static const struct {
    const char *variant;
    enum talaria_stage stage;
    na_return_t code;
    const char *reason;
} refused[] = {
    {"undefined", TALARIA_STAGE_DLOPEN, NA_FAULT, "probe_nobody_defines"},
    {"no_symbol", TALARIA_STAGE_SYMBOL, NA_NOENTRY, "na_plugin_v1"},
    {"depending", TALARIA_STAGE_SYMBOL, NA_NOENTRY, "na_plugin_v1"},
    {"bad_magic", TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR, "0x12345678"},
    {"other_major", TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR,
        "transport ABI 2.0, wanted 1.x"},
    {"min_host_minor", TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR,
        "needs a core with transport ABI 1.1, this one has 1.0"},
    {"short_table", TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR,
        "has 40 bytes, wanted at least"},
    {"long_table", TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR,
        "no more than the symbol has"},
    {"cut_off", TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR,
        "no more than the symbol has"},
    {"reserved", TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR, "reserved_zero"},
    {"unknown_flag", TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR, "0x80000000"},
    {"null_name", TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR, "lacks name"},
    {"bad_name", TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR, "plugin's name"},
    {"bad_version", TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR, "version"},
    {"bad_protocol", TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR, "protocols[1]"},
    {"no_protocol", TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR, "no protocol"},
    {"no_open", TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR, "open"},
};

static bool
is_mapped(const char *path)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_NOLOAD);

    if (object)
        dlclose(object);
    return object != NULL;
}

START_TEST(load_rejected_variant_is_unloaded)
{
    struct plugin_manifest *manifest = NULL;
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};
    const char *path;

    fixture_begin();
    path = fixture_variant(refused[_i].variant);
    ck_assert_int_eq(plugin_load_describe(path, "x.so", &manifest, &fault),
        refused[_i].code);
    ck_assert_ptr_null(manifest);
    ck_assert_str_eq(talaria_stage_to_string(fault.stage),
        talaria_stage_to_string(refused[_i].stage));
    ck_assert_msg(strstr(fault.text, refused[_i].reason), "\"%s\" lacks \"%s\"",
        fault.text, refused[_i].reason);
    ck_assert(!is_mapped(path));
}
END_TEST

START_TEST(load_of_no_shared_object_is_rejected)
{
    struct plugin_manifest *manifest;
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};

    fixture_begin();
    ck_assert_int_eq(
        plugin_load_describe(
            fixture_write("x.so", "not an object"), "x.so", &manifest, &fault),
        NA_FAULT);
    ck_assert_int_eq(fault.stage, TALARIA_STAGE_DLOPEN);
    ck_assert_ptr_nonnull(strstr(fault.text, "x.so"));
}
END_TEST

/* The variant aborts if any of its functions is called. */
START_TEST(load_describe_calls_nothing_and_unloads)
{
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};
    struct plugin_manifest *manifest;
    const char *path;

    fixture_begin();
    path = fixture_variant("trap");
    ck_assert_int_eq(
        plugin_load_describe(path, "x.so", &manifest, &fault), NA_SUCCESS);
    ck_assert_int_eq(fault.stage, TALARIA_STAGE_OK);
    ck_assert(!is_mapped(path));
    ck_assert_str_eq(manifest->name, "probe");
    ck_assert_str_eq(manifest->version, "1.2.3");
    ck_assert_str_eq(manifest->library_path, "x.so");
    ck_assert_str_eq(manifest->protocols[1], "beta");
    ck_assert_ptr_null(manifest->protocols[2]);
    ck_assert_int_eq(manifest->priority, 10);
    ck_assert(!manifest->other_protocols);
    plugin_manifest_destroy(manifest);
}
END_TEST

/* A table extended by a later minor version, and a new flag. */
START_TEST(load_extended_table_is_accepted)
{
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};
    struct plugin_manifest *manifest;

    fixture_begin();
    ck_assert_int_eq(plugin_load_describe(
                         fixture_variant("grown"), "x.so", &manifest, &fault),
        NA_SUCCESS);
    ck_assert_uint_eq(manifest->abi_minor, 7);
    ck_assert_uint_eq(manifest->min_host_minor, 0);
    plugin_manifest_destroy(manifest);
}
END_TEST

/* The manifest of a variant. */
static struct plugin_manifest *
described(const char *path)
{
    struct plugin_fault fault;
    struct plugin_manifest *manifest;

    ck_assert_int_eq(
        plugin_load_describe(path, path, &manifest, &fault), NA_SUCCESS);
    return manifest;
}

START_TEST(load_accepted_stays_and_is_shared)
{
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};
    const struct na_plugin *first = NULL, *second = NULL, *other = NULL;
    struct plugin_manifest *manifest, *other_manifest;
    const char *path, *other_path;

    fixture_begin();
    path = fixture_copy("trap.so", "trap");
    other_path = fixture_copy("other.so", "other");
    manifest = described(path);
    other_manifest = described(other_path);
    ck_assert_int_eq(plugin_load(path, manifest, &first, &fault), NA_SUCCESS);
    ck_assert_int_eq(plugin_load(path, manifest, &second, &fault), NA_SUCCESS);
    ck_assert_int_eq(
        plugin_load(other_path, other_manifest, &other, &fault), NA_SUCCESS);
    ck_assert_ptr_eq(first, second);
    ck_assert_ptr_ne(first, other);
    ck_assert_str_eq(plugin_path(first), path);
    ck_assert_str_eq(plugin_path(other), other_path);
    ck_assert_ptr_null(plugin_path(&na_plugin_v1_probe));

    plugin_cleanup();
    ck_assert(is_mapped(path));
    ck_assert_ptr_null(plugin_path(first));
    ck_assert_int_eq(plugin_load(path, manifest, &second, &fault), NA_SUCCESS);
    ck_assert_ptr_eq(first, second);
    plugin_manifest_destroy(manifest);
    plugin_manifest_destroy(other_manifest);
    plugin_cleanup();
}
END_TEST

START_TEST(load_of_plugin_unlike_its_manifest_is_unloaded)
{
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};
    struct plugin_manifest *manifest;
    const struct na_plugin *plugin = NULL;
    const char *path, *other_path;

    fixture_begin();
    path = fixture_copy("good.so", "good");
    other_path = fixture_copy("other.so", "other");
    manifest = described(other_path);
    ck_assert_int_eq(
        plugin_load(path, manifest, &plugin, &fault), NA_PROTOCOL_ERROR);
    ck_assert_int_eq(fault.stage, TALARIA_STAGE_NAME_MISMATCH);
    ck_assert_ptr_null(plugin);
    ck_assert(!is_mapped(path));
    plugin_manifest_destroy(manifest);
}
END_TEST

/* A program may open a second class after the plugin's files were replaced,
 * unless the manifest now names another plugin. */
START_TEST(load_with_replaced_manifest_uses_loaded_plugin)
{
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};
    struct plugin_manifest *manifest;
    const struct na_plugin *first = NULL, *second = NULL;
    const char *path;

    fixture_begin();
    path = fixture_copy("good.so", "good");
    manifest = described(path);
    ck_assert_int_eq(plugin_load(path, manifest, &first, &fault), NA_SUCCESS);
    strcpy(manifest->version, "1.2.4");
    ck_assert_int_eq(plugin_load(path, manifest, &second, &fault), NA_SUCCESS);
    ck_assert_ptr_eq(first, second);
    strcpy(manifest->name, "prob");
    ck_assert_int_eq(
        plugin_load(path, manifest, &second, &fault), NA_PROTOCOL_ERROR);
    ck_assert_int_eq(fault.stage, TALARIA_STAGE_NAME_MISMATCH);
    plugin_manifest_destroy(manifest);
    plugin_cleanup();
}
END_TEST

struct loader {
    const char *path;
    const struct plugin_manifest *manifest;
    const struct na_plugin *plugin;
};

static void *
load_many(void *arg)
{
    struct loader *loader = arg;
    struct plugin_fault fault;
    const struct na_plugin *plugin;

    for (int i = 0; i < 200; i++) {
        if (plugin_load(loader->path, loader->manifest, &plugin, &fault) !=
                NA_SUCCESS ||
            (loader->plugin && loader->plugin != plugin))
            return loader;
        loader->plugin = plugin;
    }
    return NULL;
}

START_TEST(load_by_many_threads_happens_once)
{
    struct loader loaders[4] = {{NULL, NULL, NULL}};
    pthread_t threads[4];
    struct plugin_manifest *manifest;
    const char *path;

    fixture_begin();
    path = fixture_copy("good.so", "good");
    manifest = described(path);
    for (int i = 0; i < 4; i++) {
        loaders[i] = (struct loader){path, manifest, NULL};
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, load_many, &loaders[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed;

        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
        ck_assert_ptr_eq(loaders[i].plugin, loaders[0].plugin);
    }
    ck_assert_uint_eq(fixture_log_count("debug"), 1);
    plugin_manifest_destroy(manifest);
    plugin_cleanup();
}
END_TEST

START_TEST(describe_plugin_gives_its_manifest)
{
    struct plugin_fault fault;
    struct plugin_manifest *manifest;
    char *json = NULL;

    fixture_begin();
    ck_assert_int_eq(
        talaria_plugin_describe(fixture_copy("trap.so", "trap"), &json),
        NA_SUCCESS);
    ck_assert_int_eq(plugin_manifest_read(
                         fixture_write("trap.json", json), &manifest, &fault),
        NA_SUCCESS);
    free(json);
    ck_assert_str_eq(manifest->library_path, "trap.so");
    ck_assert_str_eq(manifest->name, "probe");
    plugin_manifest_destroy(manifest);
    ck_assert(!is_mapped(fixture_path("trap.so")));
    ck_assert_uint_eq(fixture_log_count("error"), 0);
}
END_TEST

START_TEST(describe_of_no_plugin_gives_reason)
{
    char *json = NULL;

    fixture_begin();
    ck_assert_int_eq(
        talaria_plugin_describe(fixture_path("none.so"), &json), NA_NOENTRY);
    ck_assert(fixture_logged("not_found"));
    ck_assert_int_eq(
        talaria_plugin_describe(fixture_variant("no_symbol"), &json),
        NA_NOENTRY);
    ck_assert(fixture_logged("symbol: "));
    ck_assert_int_eq(
        talaria_plugin_describe(fixture_variant("bad_magic"), &json),
        NA_PROTOCOL_ERROR);
    ck_assert(fixture_logged("abi: "));
    ck_assert_uint_eq(fixture_log_count("error"), 3);
    ck_assert_int_eq(talaria_plugin_describe(NULL, &json), NA_INVALID_ARG);
    ck_assert_int_eq(talaria_plugin_describe("x", NULL), NA_INVALID_ARG);
    ck_assert_ptr_null(json);
}
END_TEST

START_TEST(register_invalid_plugin_is_rejected)
{
    na_plugin bad = na_plugin_v1_probe;

    fixture_begin();
    ck_assert_int_eq(talaria_plugin_register(NULL), NA_FAULT);
    bad.abi_major = 2;
    ck_assert_int_eq(talaria_plugin_register(&bad), NA_PROTOCOL_ERROR);
    ck_assert_uint_eq(fixture_log_count("error"), 2);
    ck_assert(fixture_logged("transport ABI 2.0, wanted 1.x"));
}
END_TEST

START_TEST(register_misaligned_plugin_is_rejected)
{
    static char memory[sizeof(na_plugin) + 16];
    char *misaligned = memory + 1;

    fixture_begin();
    misaligned += (uintptr_t) misaligned % _Alignof(na_plugin) == 0;
    memcpy(misaligned, &na_plugin_v1_probe, sizeof(na_plugin));
    ck_assert_int_eq(
        talaria_plugin_register((const void *) misaligned), NA_PROTOCOL_ERROR);
    ck_assert(fixture_logged("is not a na_plugin"));
}
END_TEST

START_TEST(register_too_many_protocols_is_rejected)
{
    static const char *protocols[PLUGIN_PROTOCOLS_MAX + 2];
    na_plugin many = na_plugin_v1_probe;

    fixture_begin();
    for (size_t i = 0; i < PLUGIN_PROTOCOLS_MAX + 1; i++)
        protocols[i] = "p";
    many.protocols = protocols;
    ck_assert_int_eq(talaria_plugin_register(&many), NA_PROTOCOL_ERROR);
    ck_assert(fixture_logged("more than 256 protocols"));
    protocols[PLUGIN_PROTOCOLS_MAX] = NULL;
    ck_assert_int_eq(talaria_plugin_register(&many), NA_SUCCESS);
    plugin_cleanup();
}
END_TEST

START_TEST(register_twice_is_exist_until_cleanup)
{
    fixture_begin();
    ck_assert_int_eq(talaria_plugin_register(&na_plugin_v1_probe), NA_SUCCESS);
    ck_assert_int_eq(talaria_plugin_register(&na_plugin_v1_probe), NA_EXIST);
    ck_assert(fixture_logged("\"built_in\" is registered already"));
    plugin_cleanup();
    ck_assert_int_eq(talaria_plugin_register(&na_plugin_v1_probe), NA_SUCCESS);
    plugin_cleanup();
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("plugin_load");

    tcase_add_unchecked_fixture(tcase, fixture_setup, fixture_teardown);
    tcase_add_loop_test(
        tcase, load_rejected_variant_is_unloaded, 0, COUNT(refused));
    tcase_add_test(tcase, load_of_no_shared_object_is_rejected);
    tcase_add_test(tcase, load_describe_calls_nothing_and_unloads);
    tcase_add_test(tcase, load_extended_table_is_accepted);
    tcase_add_test(tcase, load_accepted_stays_and_is_shared);
    tcase_add_test(tcase, load_of_plugin_unlike_its_manifest_is_unloaded);
    tcase_add_test(tcase, load_with_replaced_manifest_uses_loaded_plugin);
    tcase_add_test(tcase, load_by_many_threads_happens_once);
    tcase_add_test(tcase, describe_plugin_gives_its_manifest);
    tcase_add_test(tcase, describe_of_no_plugin_gives_reason);
    tcase_add_test(tcase, register_invalid_plugin_is_rejected);
    tcase_add_test(tcase, register_misaligned_plugin_is_rejected);
    tcase_add_test(tcase, register_too_many_protocols_is_rejected);
    tcase_add_test(tcase, register_twice_is_exist_until_cleanup);
    return run_tcase("plugin_load", tcase);
}

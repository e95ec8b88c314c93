/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From an info string to a plugin: which one is chosen, that no other is loaded
 * and there is no fallback, and what log and report contain.
 */
#include "plugin/resolve.h"

#include "fixture.h"
#include "na_plugin.h"
#include "plugin/info_string.h"
#include "plugin/report.h"
#include "runner.h"

#include <check.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

extern const na_plugin na_plugin_v1_probe; /* built_in: beta, delta; -5 */

#define GOOD "[\"alpha\", \"beta\"]"  /* protocols of probe_good, priority 10 */
#define OTHER "[\"beta\", \"gamma\"]" /* of probe_other, priority 20 */

static bool
is_mapped(const char *path)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_NOLOAD);

    if (object)
        dlclose(object);
    return object != NULL;
}

/* Resolves like opening a class, and publishes the report. */
static na_return_t
resolve(const char *string, const struct na_plugin **plugin_p)
{
    struct plugin_report *report = plugin_report_create();
    struct plugin_info info;
    na_return_t ret;

    ck_assert_int_eq(plugin_info_parse(string, &info), NA_SUCCESS);
    *plugin_p = NULL;
    ret = plugin_resolve(&info, report, plugin_p);
    ck_assert((ret == NA_SUCCESS) == (*plugin_p != NULL));
    plugin_info_finish(&info);
    plugin_report_publish(report);
    return ret;
}

/* Resolving fails and logs one line with these words; the last candidate of the
 * report has them too. */
static void
assert_fails(const char *string, na_return_t code, enum talaria_stage stage,
    const char *reason)
{
    size_t before = fixture_log_count("error");
    struct talaria_open_result *result;
    const struct talaria_candidate *last;
    const struct na_plugin *plugin;

    ck_assert_int_eq(resolve(string, &plugin), code);
    ck_assert_uint_eq(fixture_log_count("error"), before + 1);
    ck_assert(fixture_logged(string));
    ck_assert_msg(
        fixture_logged(reason), "%s lacks \"%s\"", fixture_log(), reason);

    ck_assert_int_eq(talaria_open_report(&result), NA_SUCCESS);
    ck_assert_str_eq(result->info_string, string);
    ck_assert_int_eq(result->code, code);
    ck_assert_uint_gt(result->count, 0);
    last = result->candidates[result->count - 1];
    ck_assert_str_eq(
        talaria_stage_to_string(last->stage), talaria_stage_to_string(stage));
    ck_assert_int_eq(last->code, code);
    ck_assert_ptr_nonnull(strstr(last->text, reason));
    ck_assert_str_eq(result->text, last->text);
    talaria_open_report_free(result);
}

/* probe_good as "probe" and probe_other as "other", in the search path. */
static void
begin_with_two(void)
{
    fixture_begin();
    fixture_copy("good.so", "good");
    fixture_copy("other.so", "other");
    fixture_manifest("1.json", "good.so", "probe", GOOD, 10);
    fixture_manifest("2.json", "other.so", "other", OTHER, 20);
    setenv("TALARIA_PLUGIN_PATH", fixture_path("."), 1);
}

START_TEST(resolve_named_plugin_opens_it)
{
    const struct na_plugin *plugin, *again;

    begin_with_two();
    ck_assert_int_eq(resolve("other+gamma://x:1", &plugin), NA_SUCCESS);
    ck_assert_str_eq(plugin->name, "other");
    ck_assert_str_eq(plugin_path(plugin), fixture_path("other.so"));
    ck_assert(!is_mapped(fixture_path("good.so")));
    fixture_ck_candidate(0, fixture_path("1.json"), "probe",
        TALARIA_STAGE_NOT_FOUND, NA_NOENTRY);
    fixture_ck_candidate(
        1, fixture_path("2.json"), "other", TALARIA_STAGE_OK, NA_SUCCESS);
    ck_assert_int_eq(resolve("other+beta", &again), NA_SUCCESS);
    ck_assert_ptr_eq(plugin, again);
    ck_assert_uint_eq(fixture_log_count("error"), 0);
    ck_assert_uint_eq(fixture_log_count("warning"), 0);
    plugin_cleanup();
}
END_TEST

START_TEST(resolve_protocol_takes_highest_priority)
{
    const struct na_plugin *plugin;

    begin_with_two();
    ck_assert_int_eq(resolve("beta", &plugin), NA_SUCCESS);
    ck_assert_str_eq(plugin->name, "other");
    ck_assert(!is_mapped(fixture_path("good.so")));
    fixture_ck_candidate(
        0, fixture_path("1.json"), "probe", TALARIA_STAGE_OK, NA_SUCCESS);
    fixture_ck_candidate(
        1, fixture_path("2.json"), "other", TALARIA_STAGE_OK, NA_SUCCESS);
    ck_assert_int_eq(resolve("alpha", &plugin), NA_SUCCESS);
    ck_assert_str_eq(plugin->name, "probe");
    fixture_ck_candidate(0, fixture_path("2.json"), "other",
        TALARIA_STAGE_PROTOCOL, NA_PROTONOSUPPORT);
    plugin_cleanup();
}
END_TEST

START_TEST(resolve_protocol_of_equal_priority_takes_first)
{
    const struct na_plugin *plugin;

    fixture_begin();
    fixture_copy("good.so", "good");
    fixture_manifest("1.json", "good.so", "probe", GOOD, 10);
    fixture_manifest("2.json", "good.so", "aaa", GOOD, 10);
    setenv("TALARIA_PLUGIN_PATH", fixture_path("."), 1);
    ck_assert_int_eq(resolve("alpha", &plugin), NA_SUCCESS);
    ck_assert_str_eq(plugin->name, "probe");
    plugin_cleanup();
}
END_TEST

START_TEST(resolve_first_of_a_name_wins)
{
    const struct na_plugin *plugin;

    fixture_begin();
    fixture_mkdir("a");
    fixture_mkdir("b");
    fixture_copy("a/good.so", "good");
    fixture_copy("b/good.so", "good");
    fixture_manifest("a/m.json", "good.so", "probe", GOOD, 10);
    fixture_manifest("b/m.json", "good.so", "probe", GOOD, 10);
    ck_assert_int_eq(talaria_plugin_path_add(fixture_path("b")), NA_SUCCESS);
    setenv("TALARIA_PLUGIN_PATH", fixture_path("a"), 1);
    ck_assert_int_eq(resolve("probe+alpha", &plugin), NA_SUCCESS);
    ck_assert_str_eq(plugin_path(plugin), fixture_path("b/good.so"));
    ck_assert(!is_mapped(fixture_path("a/good.so")));
    ck_assert_uint_eq(fixture_log_count("info"), 1);
    ck_assert(fixture_logged("a/m.json is shadowed"));
    ck_assert_int_eq(resolve("alpha", &plugin), NA_SUCCESS);
    ck_assert_str_eq(plugin_path(plugin), fixture_path("b/good.so"));
    fixture_ck_candidate(0, fixture_path("a/m.json"), "probe",
        TALARIA_STAGE_NOT_FOUND, NA_EXIST);
    plugin_cleanup();
}
END_TEST

START_TEST(resolve_registered_comes_first)
{
    const struct na_plugin *plugin;

    begin_with_two();
    fixture_manifest("0.json", "good.so", "built_in", GOOD, 99);
    ck_assert_int_eq(talaria_plugin_register(&na_plugin_v1_probe), NA_SUCCESS);
    ck_assert_int_eq(resolve("built_in+delta", &plugin), NA_SUCCESS);
    ck_assert_ptr_eq(plugin, &na_plugin_v1_probe);
    ck_assert_ptr_null(plugin_path(plugin));
    fixture_ck_candidate(0, NULL, "built_in", TALARIA_STAGE_OK, NA_SUCCESS);
    ck_assert_int_eq(resolve("delta", &plugin), NA_SUCCESS);
    ck_assert_ptr_eq(plugin, &na_plugin_v1_probe);
    ck_assert_int_eq(resolve("beta", &plugin), NA_SUCCESS);
    ck_assert_str_eq(plugin->name, "other");
    plugin_cleanup();
    assert_fails("built_in+delta", NA_PROTONOSUPPORT, TALARIA_STAGE_PROTOCOL,
        "plugin \"built_in\" does not offer protocol \"delta\"");
    plugin_cleanup();
}
END_TEST

/* Manifests of plugins that are requested by name, and why they cannot be used.
 * A valid second one of that name is not used instead. */
static const struct {
    const char *variant;
    const char *manifest; /* what differs: name, protocols */
    enum talaria_stage stage;
    na_return_t code;
    const char *reason;
} unusable[] = {
    {"undefined", GOOD, TALARIA_STAGE_DLOPEN, NA_FAULT, "probe_nobody_defines"},
    {"no_symbol", GOOD, TALARIA_STAGE_SYMBOL, NA_NOENTRY, "na_plugin_v1"},
    {"bad_magic", GOOD, TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR, "0x12345678"},
    {"other", GOOD, TALARIA_STAGE_NAME_MISMATCH, NA_PROTOCOL_ERROR,
        "says plugin \"probe\", the shared object is \"other\""},
    {"good", "[\"alpha\"]", TALARIA_STAGE_MANIFEST, NA_PROTOCOL_ERROR,
        "protocols"},
    {"good", "[\"beta\"]", TALARIA_STAGE_PROTOCOL, NA_PROTONOSUPPORT,
        "does not offer protocol \"alpha\""},
    {NULL, GOOD, TALARIA_STAGE_NOT_FOUND, NA_NOENTRY, "1.so: No such file"},
};

START_TEST(resolve_unusable_plugin_does_not_fall_back)
{
    fixture_begin();
    if (unusable[_i].variant)
        fixture_copy("1.so", unusable[_i].variant);
    fixture_copy("2.so", "good");
    fixture_manifest("1.json", "1.so", "probe", unusable[_i].manifest, 10);
    fixture_manifest("2.json", "2.so", "probe", GOOD, 10);
    setenv("TALARIA_PLUGIN_PATH", fixture_path("."), 1);
    assert_fails("probe+alpha", unusable[_i].code, unusable[_i].stage,
        unusable[_i].reason);
    fixture_ck_candidate(0, fixture_path("1.json"), "probe", unusable[_i].stage,
        unusable[_i].code);
    ck_assert(fixture_logged("1.json: "));
    ck_assert(fixture_logged(talaria_stage_to_string(unusable[_i].stage)));
    ck_assert(fixture_logged("(1 candidate)"));
    ck_assert(!is_mapped(fixture_path("1.so")));
    ck_assert(!is_mapped(fixture_path("2.so")));
    plugin_cleanup();
}
END_TEST

START_TEST(resolve_protocol_does_not_fall_back)
{
    begin_with_two();
    fixture_copy("bad.so", "bad_magic");
    fixture_manifest("3.json", "bad.so", "bad", "[\"alpha\"]", 30);
    assert_fails("alpha", NA_PROTOCOL_ERROR, TALARIA_STAGE_ABI, "0x12345678");
    ck_assert(fixture_logged("(3 candidates)"));
    ck_assert(!is_mapped(fixture_path("good.so")));
    plugin_cleanup();
}
END_TEST

START_TEST(resolve_unknown_name_lists_known_ones)
{
    char found[PATH_MAX + 64], *end;

    begin_with_two();
    snprintf(found, sizeof found, "; found probe, other; searched %s",
        fixture_path("x"));
    end = strrchr(found, '/');
    *end = '\0';
    fixture_write("0.json", "{");
    assert_fails("prob+alpha", NA_NOENTRY, TALARIA_STAGE_NOT_FOUND,
        "no plugin is named \"prob\"; ");
    ck_assert(fixture_logged("0.json: manifest: line 1"));
    ck_assert(fixture_logged(found));
    ck_assert(fixture_logged("(3 candidates)"));
    ck_assert_uint_eq(fixture_log_count("warning"), 1);
    fixture_ck_candidate(0, fixture_path("0.json"), NULL,
        TALARIA_STAGE_MANIFEST, NA_PROTOCOL_ERROR);
    fixture_ck_candidate(3, NULL, NULL, TALARIA_STAGE_NOT_FOUND, NA_NOENTRY);
    plugin_cleanup();
}
END_TEST

START_TEST(resolve_unknown_protocol_lists_known_ones)
{
    begin_with_two();
    assert_fails("zeta", NA_PROTONOSUPPORT, TALARIA_STAGE_PROTOCOL,
        "no plugin lists protocol \"zeta\"; found probe+alpha|beta, "
        "other+beta|gamma");
    assert_fails("probe", NA_PROTONOSUPPORT, TALARIA_STAGE_PROTOCOL,
        "probe+alpha|beta (a plugin: name its protocol too)");
    plugin_cleanup();
}
END_TEST

START_TEST(resolve_without_any_plugin_is_reported)
{
    fixture_begin();
    setenv("TALARIA_PLUGIN_FILES", ":", 1);
    assert_fails("probe+alpha", NA_NOENTRY, TALARIA_STAGE_NOT_FOUND,
        "found none; searched TALARIA_PLUGIN_FILES");
    ck_assert(fixture_logged("(0 candidates)"));
    plugin_cleanup();
}
END_TEST

START_TEST(resolve_warns_of_relevant_rejections_only)
{
    const struct na_plugin *plugin;

    begin_with_two();
    fixture_manifest("0.json", "none.so", "unrelated", "[\"zeta\"]", 0);
    ck_assert_int_eq(resolve("probe+alpha", &plugin), NA_SUCCESS);
    ck_assert_int_eq(resolve("gamma", &plugin), NA_SUCCESS);
    ck_assert_uint_eq(fixture_log_count("warning"), 0);
    fixture_manifest("0.json", "none.so", "unrelated", "[\"gamma\"]", 99);
    ck_assert_int_eq(resolve("gamma", &plugin), NA_SUCCESS);
    ck_assert_uint_eq(fixture_log_count("warning"), 1);
    ck_assert(fixture_logged("0.json is passed over: not_found: "));
    /* A missing folder is ignored, a missing file that was given is an
     * error. */
    ck_assert_int_eq(
        talaria_plugin_path_add(fixture_path("later")), NA_SUCCESS);
    ck_assert_int_eq(resolve("probe+alpha", &plugin), NA_SUCCESS);
    ck_assert_uint_eq(fixture_log_count("warning"), 1);
    setenv("TALARIA_PLUGIN_FILES", "/none.so", 1);
    ck_assert_int_eq(resolve("probe+alpha", &plugin), NA_NOENTRY);
    ck_assert_uint_eq(fixture_log_count("warning"), 2);
    plugin_cleanup();
}
END_TEST

START_TEST(resolve_protocols_of_others_are_tried_by_name_only)
{
    const struct na_plugin *plugin;

    fixture_begin();
    fixture_copy("1.so", "lists_none");
    fixture_write("1.json",
        "{\"format\": \"1.0\", \"plugin\": {\"name\": \"probe\", "
        "\"version\": \"1.2.3\", \"library_path\": \"1.so\", \"abi\": "
        "{\"major\": 1, \"minor\": 0, \"min_host_minor\": 0}, \"protocols\": "
        "[], \"other_protocols\": true, \"priority\": 10}}");
    setenv("TALARIA_PLUGIN_PATH", fixture_path("."), 1);
    ck_assert_int_eq(resolve("probe+tcp;ofi_rxm", &plugin), NA_SUCCESS);
    assert_fails("tcp;ofi_rxm", NA_PROTONOSUPPORT, TALARIA_STAGE_PROTOCOL,
        "no plugin lists protocol \"tcp;ofi_rxm\"");
    plugin_cleanup();
}
END_TEST

static void
set_files(const char *first, const char *second)
{
    char value[2 * PATH_MAX + 2];

    snprintf(value, sizeof value, "%s:%s", first, second);
    setenv("TALARIA_PLUGIN_FILES", value, 1);
}

START_TEST(resolve_name_is_checked_unless_opaque)
{
    const struct na_plugin *plugin;

    begin_with_two();
    ck_assert_int_eq(resolve("probe+alpha://eth0:1", &plugin), NA_SUCCESS);
    assert_fails("probe+alpha://eth0:x", NA_INVALID_ARG,
        TALARIA_STAGE_INFO_STRING, "the port is not a number");
    fixture_copy("opaque.so", "opaque");
    fixture_manifest("1.json", "opaque.so", "probe", GOOD, 10);
    ck_assert_int_eq(resolve("probe+alpha://eth0:x", &plugin), NA_SUCCESS);
    plugin_cleanup();
}
END_TEST

START_TEST(resolve_files_need_no_manifest)
{
    const struct na_plugin *plugin;

    fixture_begin();
    set_files(fixture_copy("good.so", "good"), fixture_copy("o.so", "other"));
    ck_assert_int_eq(resolve("probe+alpha", &plugin), NA_SUCCESS);
    ck_assert_str_eq(plugin_path(plugin), fixture_path("good.so"));
    ck_assert_ptr_null(getenv("PROBE_OTHER_LOADED"));
    plugin_cleanup();
    ck_assert_int_eq(resolve("other+gamma", &plugin), NA_SUCCESS);
    ck_assert_str_eq(plugin->name, "other");
    ck_assert_ptr_nonnull(getenv("PROBE_OTHER_LOADED"));
    fixture_ck_candidate(0, fixture_path("good.so"), "probe",
        TALARIA_STAGE_NOT_FOUND, NA_NOENTRY);
    ck_assert_int_eq(resolve("beta", &plugin), NA_SUCCESS);
    ck_assert_str_eq(plugin->name, "other");
    assert_fails("other+alpha", NA_PROTONOSUPPORT, TALARIA_STAGE_PROTOCOL,
        "does not offer");
    plugin_cleanup();
}
END_TEST

START_TEST(resolve_files_ignores_files_that_are_no_plugin)
{
    const struct na_plugin *plugin;

    fixture_begin();
    set_files(fixture_copy("no.so", "no_symbol"), fixture_copy("g.so", "good"));
    ck_assert_int_eq(resolve("probe+alpha", &plugin), NA_SUCCESS);
    ck_assert_uint_eq(fixture_log_count("warning"), 1);
    fixture_ck_candidate(
        0, fixture_path("no.so"), NULL, TALARIA_STAGE_SYMBOL, NA_NOENTRY);
    ck_assert(!is_mapped(fixture_path("no.so")));
    plugin_cleanup();
}
END_TEST

/* What plugin_each visited. */
struct visits {
    char names[256];
    na_return_t ret;
};

static na_return_t
visit(void *arg, const struct na_plugin *plugin)
{
    struct visits *visits = arg;

    strcat(visits->names, plugin->name);
    strcat(visits->names, " ");
    return visits->ret;
}

static void
assert_each(const char *plugin, const char *protocol, na_return_t ret,
    const char *names)
{
    struct visits visits = {"", NA_SUCCESS};

    ck_assert_int_eq(plugin_each(plugin, protocol, visit, &visits), ret);
    ck_assert_str_eq(visits.names, names);
}

START_TEST(each_visits_resolvable_plugins)
{
    struct visits visits = {"", NA_INTERRUPT};

    begin_with_two();
    /* Only these, also on a machine with installed plugins. */
    set_files(fixture_path("good.so"), fixture_path("other.so"));
    ck_assert_int_eq(talaria_plugin_register(&na_plugin_v1_probe), NA_SUCCESS);
    assert_each(NULL, NULL, NA_SUCCESS, "built_in probe other ");
    assert_each(NULL, "beta", NA_SUCCESS, "built_in probe other ");
    assert_each(NULL, "gamma", NA_SUCCESS, "other ");
    assert_each("probe", NULL, NA_SUCCESS, "probe ");
    assert_each("probe", "beta", NA_SUCCESS, "probe ");
    ck_assert_uint_eq(fixture_log_count("error"), 0);
    assert_each("probe", "gamma", NA_PROTONOSUPPORT, "");
    ck_assert(fixture_logged("cannot open \"probe+gamma\": "));
    assert_each("none", NULL, NA_NOENTRY, "");
    ck_assert(fixture_logged("cannot open \"none+*\": "));
    assert_each(NULL, "zeta", NA_PROTONOSUPPORT, "");
    ck_assert(fixture_logged("cannot open \"zeta\": "));
    ck_assert_uint_eq(fixture_log_count("error"), 3);

    ck_assert_int_eq(plugin_each(NULL, NULL, visit, &visits), NA_INTERRUPT);
    ck_assert_str_eq(visits.names, "built_in ");
    plugin_cleanup();
}
END_TEST

START_TEST(each_visits_the_first_of_a_name_only)
{
    fixture_begin();
    fixture_copy("1.so", "good");
    fixture_copy("2.so", "good");
    set_files(fixture_path("1.so"), fixture_path("2.so"));
    assert_each(NULL, NULL, NA_SUCCESS, "probe ");
    assert_each(NULL, "alpha", NA_SUCCESS, "probe ");
    ck_assert(is_mapped(fixture_path("1.so")));
    ck_assert(!is_mapped(fixture_path("2.so")));
    plugin_cleanup();
}
END_TEST

START_TEST(each_skips_what_cannot_be_loaded)
{
    fixture_begin();
    set_files(
        fixture_copy("bad.so", "bad_magic"), fixture_copy("g.so", "good"));
    assert_each(NULL, NULL, NA_SUCCESS, "probe ");
    ck_assert_uint_eq(fixture_log_count("error"), 0);
    ck_assert_uint_eq(fixture_log_count("warning"), 1);
    /* Its protocols are unknown. */
    assert_each(NULL, "alpha", NA_SUCCESS, "probe ");
    ck_assert_uint_eq(fixture_log_count("warning"), 1);
    fixture_manifest("bad.json", "bad.so", "bad", GOOD, 1);
    assert_each(NULL, "alpha", NA_SUCCESS, "probe ");
    ck_assert_uint_eq(fixture_log_count("warning"), 2);
    plugin_cleanup();
}
END_TEST

/* Without memory for a report, everything else works. */
START_TEST(resolve_without_report_works)
{
    struct talaria_open_result *result;
    const struct na_plugin *plugin;
    struct plugin_info info;

    begin_with_two();
    ck_assert_int_eq(plugin_info_parse("alpha", &info), NA_SUCCESS);
    ck_assert_int_eq(plugin_resolve(&info, NULL, &plugin), NA_SUCCESS);
    plugin_info_finish(&info);
    ck_assert_int_eq(talaria_open_report(&result), NA_NOENTRY);
    plugin_cleanup();
}
END_TEST

#define COUNT(array) ((int) (sizeof(array) / sizeof(array)[0]))

int
main(void)
{
    TCase *tcase = tcase_create("resolve");

    tcase_add_unchecked_fixture(tcase, fixture_setup, fixture_teardown);
    tcase_add_test(tcase, resolve_named_plugin_opens_it);
    tcase_add_test(tcase, resolve_protocol_takes_highest_priority);
    tcase_add_test(tcase, resolve_protocol_of_equal_priority_takes_first);
    tcase_add_test(tcase, resolve_first_of_a_name_wins);
    tcase_add_test(tcase, resolve_registered_comes_first);
    tcase_add_loop_test(
        tcase, resolve_unusable_plugin_does_not_fall_back, 0, COUNT(unusable));
    tcase_add_test(tcase, resolve_protocol_does_not_fall_back);
    tcase_add_test(tcase, resolve_unknown_name_lists_known_ones);
    tcase_add_test(tcase, resolve_unknown_protocol_lists_known_ones);
    tcase_add_test(tcase, resolve_without_any_plugin_is_reported);
    tcase_add_test(tcase, resolve_warns_of_relevant_rejections_only);
    tcase_add_test(tcase, resolve_protocols_of_others_are_tried_by_name_only);
    tcase_add_test(tcase, resolve_name_is_checked_unless_opaque);
    tcase_add_test(tcase, resolve_files_need_no_manifest);
    tcase_add_test(tcase, resolve_files_ignores_files_that_are_no_plugin);
    tcase_add_test(tcase, resolve_without_report_works);
    tcase_add_test(tcase, each_visits_resolvable_plugins);
    tcase_add_test(tcase, each_visits_the_first_of_a_name_only);
    tcase_add_test(tcase, each_skips_what_cannot_be_loaded);
    return run_tcase("resolve", tcase);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings: invalid descriptions, unknown keys, and where a class gets its
 * values from. */
#include "setting_case.h"

#include "log_watch.h"
#include "mercury.h"
#include "na.h"
#include "runner.h"
#include "talaria.h"

#include <check.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Replaces the core's function: the test decides whether the process is
 * privileged. */
static bool privileged;
char *__real_secure_getenv(const char *name);
char *__wrap_secure_getenv(const char *name);

char *
__wrap_secure_getenv(const char *name)
{
    return privileged ? NULL : __real_secure_getenv(name);
}

static const na_plugin_setting *const far_settings[] = {
    &number, &bytes, &duration, &boolean, &words, NULL};
static const na_plugin_setting *const near_settings[] = {&near_number, NULL};

/* Settings that the last class of each plugin was opened with. */
static struct {
    uint64_t number, bytes, duration, boolean, near;
    char words[16];
    unsigned opened;
} seen;

static na_plugin_ops ops;
static int the_class;

static int32_t
info(const na_plugin_host *host, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    seen.number = host->number(host, "far.number");
    return NA_PLUGIN_OK;
}

static void
fill_opened(na_plugin_opened *opened)
{
    seen.opened++;
    opened->cls = (na_plugin_class *) (void *) &the_class;
    opened->ops = &ops;
    opened->op_size = 64;
    opened->op_align = 8;
    opened->max_unexpected_size = 4096;
    opened->max_expected_size = 4096;
    opened->max_tag = UINT32_MAX;
    opened->max_segments = 1;
    opened->max_contexts = 1;
}

static int32_t
open_far(const na_plugin_host *host, const na_plugin_open_info *open_info,
    na_plugin_opened *opened)
{
    seen.number = host->number(host, "far.number");
    seen.bytes = host->number(host, "far.bytes");
    seen.duration = host->number(host, "far.duration");
    seen.boolean = host->number(host, "far.boolean");
    ck_assert_uint_eq(host->number(host, "x.words"), 0);
    strncpy(seen.words, host->text(host, "x.words"), sizeof seen.words - 1);
    fill_opened(opened);
    return NA_PLUGIN_OK;
}

static int32_t
open_near(const na_plugin_host *host, const na_plugin_open_info *open_info,
    na_plugin_opened *opened)
{
    seen.near = host->number(host, "near.number");
    fill_opened(opened);
    return NA_PLUGIN_OK;
}

static void
close_class(na_plugin_class *cls)
{
}

static const void *
extension(na_plugin_class *cls, const char *id)
{
    return NULL;
}

static void
never_called(void)
{
    abort();
}

static const char *const far_protocols[] = {"x", NULL};
static const char *const near_protocols[] = {"y", NULL};

#define PLUGIN(its_name, its_protocols, its_open, its_settings)                \
    {                                                                          \
        .magic = NA_PLUGIN_MAGIC, .abi_major = NA_PLUGIN_ABI_MAJOR,            \
        .abi_minor = NA_PLUGIN_ABI_MINOR, .size = sizeof(na_plugin),           \
        .name = its_name, .version = "1", .protocols = its_protocols,          \
        .info = info, .open = its_open, .close = close_class,                  \
        .settings = its_settings                                               \
    }

static const na_plugin far_plugin =
    PLUGIN("far", far_protocols, open_far, far_settings);
static const na_plugin near_plugin =
    PLUGIN("near", near_protocols, open_near, near_settings);

static void
begin(void)
{
    void (*func)(void) = never_called;

    unsetenv("TALARIA_PLUGIN_FILES");
    unsetenv("TALARIA_PLUGIN_PATH");
    log_watch_begin();
    log_watch_install();
    memset(&seen, 0, sizeof seen);
    ops.size = sizeof ops;
    for (size_t at = offsetof(na_plugin_ops, ctx_create); at < sizeof ops;
         at += sizeof func)
        memcpy((char *) &ops + at, &func, sizeof func);
    ops.extension = extension;
    ck_assert_int_eq(talaria_plugin_register(&far_plugin), NA_SUCCESS);
    ck_assert_int_eq(talaria_plugin_register(&near_plugin), NA_SUCCESS);
}

static void
end(void)
{
    log_watch_check();
    NA_Cleanup();
}

#define LONG_KEY                                                               \
    "far.k123456789012345678901234567890123456789012345678901234567890"
#define GOOD(...)                                                              \
    {                                                                          \
        .size = sizeof(na_plugin_setting), .kind = NA_PLUGIN_SETTING_NUMBER,   \
        .most = 9, .key = "far.n", .initial = "1", .text = "t", __VA_ARGS__    \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#endif
static const struct {
    na_plugin_setting setting;
    const char *fault; /* NULL: valid */
} descriptions[] = {
    {GOOD(.most = 9), NULL},
    {GOOD(.key = "x.n"), NULL},
    {GOOD(.size = 8), "settings[1] has a size below that of 1.0"},
    {GOOD(.size = 0), "settings[1] has a size below that of 1.0"},
    {GOOD(.key = NULL), "settings[1] has no key"},
    {GOOD(.key = ""), "does not begin with"},
    {GOOD(.key = "n"), "does not begin with"},
    {GOOD(.key = "farther.n"), "does not begin with"},
    {GOOD(.key = "hg.n"), "does not begin with"},
    {GOOD(.key = "plugin.n"), "does not begin with"},
    {GOOD(.key = "far."), "without [a-z0-9_]+ behind the dot"},
    {GOOD(.key = "far.a.b"), "without [a-z0-9_]+ behind the dot"},
    {GOOD(.key = "far.a-b"), "without [a-z0-9_]+ behind the dot"},
    {GOOD(.key = "far.A"), "without [a-z0-9_]+ behind the dot"},
    {GOOD(.key = "far.a\n"), "without [a-z0-9_]+ behind the dot"},
    {GOOD(.key = LONG_KEY), "a key longer than 63 bytes"},
    {GOOD(.key = "far.first"), "a key that is there before"},
    {GOOD(.kind = 99), "an unknown kind"},
    {GOOD(.text = NULL), "no text"},
    {GOOD(.text = ""), "no text"},
    {GOOD(.text = "two\nlines"), "no text"},
    {GOOD(.least = 10), "no range"},
    {GOOD(.kind = NA_PLUGIN_SETTING_BOOLEAN), "no range"},
    {GOOD(.initial = NULL), "no initial value"},
    {GOOD(.initial = "10"), "no initial value"},
    {GOOD(.initial = "one"), "no initial value"},
};
static const na_plugin_setting listed_first = GOOD(.key = "far.first");
#pragma GCC diagnostic pop

START_TEST(description_invalid_rejects_the_plugin)
{
    const na_plugin_setting *const list[] = {
        &listed_first, &descriptions[_i].setting, NULL};
    const na_plugin plugin = PLUGIN("far", far_protocols, open_far, list);

    NA_Cleanup();
    if (descriptions[_i].fault)
        log_expect(descriptions[_i].fault, 1, 1);
    ck_assert_int_eq(talaria_plugin_register(&plugin),
        descriptions[_i].fault ? NA_PROTOCOL_ERROR : NA_SUCCESS);
    NA_Cleanup();
}
END_TEST

START_TEST(description_of_ten_thousand_settings_rejects_the_plugin)
{
    static const na_plugin_setting *list[10001];
    static na_plugin_setting settings[10000];
    static char keys[10000][16];
    const na_plugin plugin = PLUGIN("far", far_protocols, open_far, list);

    NA_Cleanup();
    for (unsigned i = 0; i < 10000; i++) {
        snprintf(keys[i], sizeof keys[i], "far.n%u", i);
        settings[i] = number;
        settings[i].key = keys[i];
        list[i] = &settings[i];
    }
    log_expect("settings[128] has more before it than", 1, 1);
    ck_assert_int_eq(talaria_plugin_register(&plugin), NA_PROTOCOL_ERROR);
    list[128] = NULL;
    ck_assert_int_eq(talaria_plugin_register(&plugin), NA_SUCCESS);
    NA_Cleanup();
}
END_TEST

static na_return_t
open_na(const char *const *settings, na_class_t **na_class_p)
{
    return talaria_na_initialize(
        "far+x", false, NA_VERSION(5, 0), NULL, settings, na_class_p);
}

static const char *
reported(na_class_t *na_class, const char *name, char text[32])
{
    struct talaria_report *report;

    strcpy(text, "(none)");
    ck_assert_int_eq(talaria_class_report(na_class, &report), NA_SUCCESS);
    for (size_t i = 0; i < report->count; i++)
        if (strcmp(report->entries[i]->name, name) == 0)
            snprintf(text, 32, "%s", report->entries[i]->text);
    talaria_class_report_free(report);
    return text;
}

START_TEST(class_settings_default_to_initial_values)
{
    static const char *const none[] = {NULL};
    na_class_t *na_class;

    ck_assert_int_eq(open_na(_i ? none : NULL, &na_class), NA_SUCCESS);
    ck_assert_uint_eq(seen.number, 7);
    ck_assert_uint_eq(seen.bytes, 4096);
    ck_assert_uint_eq(seen.duration, 20 * MS);
    ck_assert_uint_eq(seen.boolean, 0);
    ck_assert_str_eq(seen.words, "");
    NA_Finalize(na_class);
}
END_TEST

START_TEST(class_key_value_overrides_environment)
{
    static const char *const settings[] = {
        "far.number=9", "far.duration=1s", "x.words=a=b", NULL};
    na_class_t *first, *second;
    char text[32];

    setenv("TALARIA_FAR_NUMBER", "8", 1);
    setenv("TALARIA_FAR_BYTES", "1K", 1);
    setenv("TALARIA_X_WORDS", "", 1);
    ck_assert_int_eq(open_na(settings, &first), NA_SUCCESS);
    ck_assert_uint_eq(seen.number, 9);
    ck_assert_uint_eq(seen.bytes, 1024);
    ck_assert_uint_eq(seen.duration, 1000 * MS);
    ck_assert_str_eq(seen.words, "a=b");
    second = NA_Initialize("far+x", false);
    ck_assert_ptr_nonnull(second);
    ck_assert_uint_eq(seen.number, 8);
    ck_assert_uint_eq(seen.duration, 20 * MS);
    ck_assert_str_eq(seen.words, "");
    ck_assert_str_eq(reported(first, "far.number", text), "9");
    ck_assert_str_eq(reported(second, "far.number", text), "8");
    ck_assert_str_eq(reported(second, "far.bytes", text), "1K");
    NA_Finalize(first);
    NA_Finalize(second);
}
END_TEST

static const struct {
    const char *settings[3];
    const char *message;
} wrong[] = {
    {{"far.number=0"}, "far.number is \"0\" by the program's settings, wanted "
                       "number from 1 to 100"},
    {{"far.number="}, "far.number is \"\" by the program's settings"},
    {{"far.bytes=2M"}, "far.bytes is \"2M\" by the program's settings, wanted "
                       "bytes from 0 to 1M"},
    {{"far.duration=5"}, "wanted duration from 0 to 5s, with its unit"},
    {{"far.boolean=maybe\n"}, "far.boolean is \"maybe?\""},
    {{"x.words=123456789"}, "wanted text from 0 to 8 bytes"},
    {{"far.numbre=1"}, "there is no setting \"far.numbre\" here, the nearest "
                       "is \"far.number\""},
    {{"far.numbers=1"}, "there is no setting \"far.numbers\" here"},
    {{"number=1"}, "the nearest is \"far.number\""},
    {{"FAR.NUMBER=1"}, "the nearest is \"far.number\""},
    {{"near.number=1"}, "there is no setting \"near.number\" here"},
    {{"hg.overflow_max=1"}, "there is no setting \"hg.overflow_max\" here"},
    {{"far.number"}, "the setting \"far.number\" is not key=value"},
    {{"=1"}, "the setting \"=1\" is not key=value"},
    {{"far.number=1", "far.number=2"},
        "the setting \"far.number\" is given twice"},
};

START_TEST(class_with_invalid_key_value_fails_with_its_name)
{
    na_class_t *na_class = (na_class_t *) (void *) &seen;

    log_expect(wrong[_i].message, 1, 1);
    ck_assert_int_eq(open_na(wrong[_i].settings, &na_class), NA_INVALID_ARG);
    ck_assert_ptr_eq(na_class, (void *) &seen);
    ck_assert_uint_eq(seen.opened, 0);
}
END_TEST

START_TEST(environment_invalid_value_fails_with_its_variable)
{
    struct na_protocol_info *devices = NULL;

    setenv("TALARIA_FAR_NUMBER", "many", 1);
    log_expect("far.number is \"many\" by the variable TALARIA_FAR_NUMBER, "
               "wanted number from 1 to 100",
        2, 2);
    ck_assert_ptr_null(NA_Initialize("far+x", false));
    ck_assert_int_eq(NA_Get_protocol_info("far+x", &devices), NA_INVALID_ARG);
    setenv("TALARIA_FAR_NUMBER", "33", 1);
    ck_assert_int_eq(NA_Get_protocol_info("far+x", &devices), NA_SUCCESS);
    ck_assert_uint_eq(seen.number, 33);
    NA_Free_protocol_info(devices);
}
END_TEST

START_TEST(environment_unknown_variable_is_warned_of_once)
{
    na_class_t *na_class;

    setenv("TALARIA_FAR_NUMBRE", "1", 1);
    setenv("TALARIA_FARTHER_NUMBER", "1", 1);
    setenv("TALARIA_FAR_EMPTY", "", 1);
    setenv("TALARIA_HG_OVERFLOWMAX", "1", 1);
    log_expect("TALARIA_FAR_NUMBRE is no setting, the nearest is "
               "TALARIA_FAR_NUMBER",
        1, 1);
    log_expect("TALARIA_HG_OVERFLOWMAX is no setting, the nearest is "
               "TALARIA_HG_OVERFLOW_MAX",
        1, 1);
    for (unsigned i = 0; i < 3; i++) {
        hg_class_t *hg_class = HG_Init("far+x", false);

        ck_assert_ptr_nonnull(hg_class);
        ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
        ck_assert_int_eq(open_na(NULL, &na_class), NA_SUCCESS);
        NA_Finalize(na_class);
    }
}
END_TEST

START_TEST(environment_of_privileged_process_is_ignored)
{
    static const char *const settings[] = {"far.bytes=8K", NULL};
    na_class_t *na_class;

    setenv("TALARIA_FAR_NUMBER", "many", 1);
    setenv("TALARIA_FAR_BYTES", "2K", 1);
    setenv("TALARIA_FAR_NUMBRE", "1", 1);
    log_expect("TALARIA_FAR_NUMBER is ignored in a privileged process", 1, 1);
    log_expect("TALARIA_FAR_NUMBRE is ignored in a privileged process", 1, 1);
    privileged = true;
    ck_assert_int_eq(open_na(settings, &na_class), NA_SUCCESS);
    privileged = false;
    ck_assert_uint_eq(seen.number, 7);
    ck_assert_uint_eq(seen.bytes, 8192);
    NA_Finalize(na_class);
}
END_TEST

static hg_return_t
open_hg(const struct hg_init_info *init, const char *const *settings,
    hg_class_t **hg_class_p)
{
    return talaria_hg_init(
        "far+x", true, HG_VERSION(2, 4), init, settings, hg_class_p);
}

START_TEST(hg_class_accepts_settings_of_core_and_both_transports)
{
    static const char *const settings[] = {"near.number=5",
        "hg.overflow_max=1M", "far.number=6", "hg.ack_timeout_ms=5", NULL};
    struct hg_init_info init = HG_INIT_INFO_INITIALIZER;
    hg_class_t *hg_class;

    init.auto_sm = true;
    init.sm_info_string = "near+y";
    ck_assert_int_eq(open_hg(&init, settings, &hg_class), HG_SUCCESS);
    ck_assert_uint_eq(seen.number, 6);
    ck_assert_uint_eq(seen.near, 5);
    ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
}
END_TEST

static const struct {
    const char *setting;
    const char *message;
    hg_return_t ret;
    const char *sm; /* with auto_sm: the class of this plugin */
    unsigned opened;
} hg_wrong[] = {
    {"hg.overflow_mx=1", "the nearest is \"hg.overflow_max\"", HG_INVALID_ARG,
        NULL, 0},
    {"hg.overflow_max=1T",
        "hg.overflow_max is \"1T\" by the program's "
        "settings, wanted bytes from 0 to",
        HG_INVALID_ARG, NULL, 0},
    {"far.numbre=1", "the nearest is \"far.number\"", HG_INVALID_ARG, NULL, 0},
    {"near.number=1", "there is no setting \"near.number\" here",
        HG_INVALID_ARG, NULL, 0},
    {"near.numbre=1", "the nearest is \"near.number\"", HG_INVALID_ARG,
        "near+y", 2},
    {"near.number=10",
        "near.number is \"10\" by the program's settings, wanted "
        "number from 0 to 9",
        HG_INVALID_ARG, "near+y", 1},
    {"far.number=0", "far.number is \"0\" by the program's", HG_INVALID_ARG,
        "near+y", 0},
    {"near.number=1", "there is no setting \"near.number\" here", HG_SUCCESS,
        "nobody+y", 1},
};

START_TEST(hg_class_with_invalid_key_value_fails_with_its_name)
{
    const char *const settings[] = {hg_wrong[_i].setting, NULL};
    struct hg_init_info init = HG_INIT_INFO_INITIALIZER;
    hg_class_t *hg_class;

    init.auto_sm = hg_wrong[_i].sm != NULL;
    init.sm_info_string = hg_wrong[_i].sm;
    log_expect(hg_wrong[_i].message, 1, 1);
    log_expect("auto_sm has no effect", hg_wrong[_i].ret == HG_SUCCESS,
        hg_wrong[_i].ret == HG_SUCCESS);
    ck_assert_int_eq(open_hg(&init, settings, &hg_class), hg_wrong[_i].ret);
    ck_assert_uint_eq(seen.opened, hg_wrong[_i].opened);
    if (hg_wrong[_i].ret == HG_SUCCESS)
        ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
}
END_TEST

START_TEST(hg_class_on_given_na_class_rejects_its_settings)
{
    static const char *const own[] = {"hg.overflow_max=1M", NULL};
    static const char *const other[] = {"far.number=9", NULL};
    struct hg_init_info init = HG_INIT_INFO_INITIALIZER;
    hg_class_t *hg_class;

    init.na_class = NA_Initialize("far+x", false);
    ck_assert_ptr_nonnull(init.na_class);
    ck_assert_int_eq(open_hg(&init, own, &hg_class), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    log_expect("there is no setting \"far.number\" here", 1, 1);
    ck_assert_int_eq(open_hg(&init, other, &hg_class), HG_INVALID_ARG);
    ck_assert_int_eq(NA_Finalize(init.na_class), NA_SUCCESS);
}
END_TEST

START_TEST(class_without_output_pointer_fails)
{
    log_expect("_class_p is NULL", 2, 2);
    ck_assert_int_eq(open_na(NULL, NULL), NA_INVALID_ARG);
    ck_assert_int_eq(open_hg(NULL, NULL, NULL), HG_INVALID_ARG);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("setting");

    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_loop_test(
        tcase, description_invalid_rejects_the_plugin, 0, COUNT(descriptions));
    tcase_add_test(
        tcase, description_of_ten_thousand_settings_rejects_the_plugin);
    tcase_add_loop_test(tcase, class_settings_default_to_initial_values, 0, 2);
    tcase_add_test(tcase, class_key_value_overrides_environment);
    tcase_add_loop_test(tcase, class_with_invalid_key_value_fails_with_its_name,
        0, COUNT(wrong));
    tcase_add_test(tcase, environment_invalid_value_fails_with_its_variable);
    tcase_add_test(tcase, environment_unknown_variable_is_warned_of_once);
    tcase_add_test(tcase, environment_of_privileged_process_is_ignored);
    tcase_add_test(
        tcase, hg_class_accepts_settings_of_core_and_both_transports);
    tcase_add_loop_test(tcase,
        hg_class_with_invalid_key_value_fails_with_its_name, 0,
        COUNT(hg_wrong));
    tcase_add_test(tcase, hg_class_on_given_na_class_rejects_its_settings);
    tcase_add_test(tcase, class_without_output_pointer_fails);
    return run_tcase("setting", tcase);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings over a real transport: two classes of one program may differ, and
 * invalid ones are rejected by name. */
#include "log_watch.h"
#include "mercury.h"
#include "na.h"
#include "runner.h"
#include "talaria.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct transport {
    const char *info;
    const char *settings[2];
    const char *key;
    const char *values[2];
    /* entry of the plugin's report that shows it, or NULL */
    const char *counter;
    uint64_t counted[2];
    const char *variable;
    const char *misspelled;
    const char *beyond;
} transports[] = {
    {"na+sm", {"sm.ring_size=128K", "sm.ring_size=256K"}, "sm.ring_size",
        {"128K", "256K"}, "ring_bytes", {131072, 262144},
        "TALARIA_SM_RING_SIZE", "sm.ringsize=64K", "sm.ring_size=2M"},
    {"ofi+tcp", {"ofi.queue_size=1M", "ofi.queue_size=2M"}, "ofi.queue_size",
        {"1M", "2M"}, NULL, {0, 0}, "TALARIA_OFI_QUEUE_SIZE",
        "ofi.queuesize=64K", "ofi.probe_interval=1ms"},
    {"ucx+tcp", {"ucx.window=1M", "ucx.window=2M"}, "ucx.window", {"1M", "2M"},
        NULL, {0, 0}, "TALARIA_UCX_WINDOW", "ucx.windwo=64K", "ucx.window=8K"},
};

static const struct transport *transport;

static void
begin(void)
{
    log_watch_begin();
    log_watch_install();
}

static void
ck_entry(
    na_class_t *na_class, const char *name, const char *text, uint64_t value)
{
    struct talaria_report *report;
    bool found = false;

    ck_assert_int_eq(talaria_class_report(na_class, &report), NA_SUCCESS);
    for (size_t i = 0; i < report->count; i++) {
        const struct talaria_report_entry *entry = report->entries[i];

        if (strcmp(entry->name, name) != 0)
            continue;
        found = true;
        if (text)
            ck_assert_str_eq(entry->text, text);
        else
            ck_assert_uint_eq(entry->value, value);
    }
    ck_assert_msg(found, "no %s in the report", name);
    talaria_class_report_free(report);
}

static na_class_t *
open_with(const char *setting)
{
    const char *const settings[] = {setting, NULL};
    na_class_t *na_class = NULL;

    ck_assert_int_eq(talaria_na_initialize(transport->info, false,
                         NA_VERSION(5, 0), NULL, settings, &na_class),
        NA_SUCCESS);
    return na_class;
}

START_TEST(settings_of_two_classes_of_one_program_differ)
{
    na_class_t *classes[2];

    for (unsigned i = 0; i < 2; i++)
        classes[i] = open_with(transport->settings[i]);
    for (unsigned i = 0; i < 2; i++) {
        ck_entry(classes[i], transport->key, transport->values[i], 0);
        if (transport->counter)
            ck_entry(
                classes[i], transport->counter, NULL, transport->counted[i]);
    }
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(NA_Finalize(classes[i]), NA_SUCCESS);
}
END_TEST

START_TEST(settings_of_the_environment_are_defaults)
{
    na_class_t *classes[2];

    setenv(transport->variable, transport->values[1], 1);
    classes[0] = open_with(transport->settings[0]);
    classes[1] = open_with(NULL);
    for (unsigned i = 0; i < 2; i++) {
        ck_entry(classes[i], transport->key, transport->values[i], 0);
        if (transport->counter)
            ck_entry(
                classes[i], transport->counter, NULL, transport->counted[i]);
        ck_assert_int_eq(NA_Finalize(classes[i]), NA_SUCCESS);
    }
}
END_TEST

START_TEST(settings_that_are_invalid_are_named)
{
    const char *const wrong[] = {transport->misspelled, transport->beyond};
    hg_class_t *hg_class;

    log_expect("the nearest is", 1, 1);
    log_expect(", wanted ", 1, 1);
    for (unsigned i = 0; i < 2; i++) {
        const char *const settings[] = {wrong[i], NULL};

        ck_assert_int_eq(talaria_hg_init(transport->info, false,
                             HG_VERSION(2, 4), NULL, settings, &hg_class),
            HG_INVALID_ARG);
    }
}
END_TEST

START_TEST(settings_of_both_transports_with_auto_sm)
{
    static const char *const right[] = {
        "sm.ring_size=64K", "hg.overflow_max=1M", NULL};
    static const char *const wrong[] = {"sm.ring_sise=64K", NULL};
    static const char *const beyond[] = {"sm.ring_size=1G", NULL};
    const char *const *const lists[] = {right, wrong, beyond};
    struct hg_init_info init = HG_INIT_INFO_INITIALIZER;
    hg_class_t *hg_class;

    init.auto_sm = true;
    log_expect("the nearest is \"sm.ring_size\"", 1, 1);
    log_expect("sm.ring_size is \"1G\" by the program's settings", 1, 1);
    for (unsigned i = 0; i < 3; i++) {
        hg_return_t ret = talaria_hg_init(transport->info, false,
            HG_VERSION(2, 4), &init, lists[i], &hg_class);

        ck_assert_int_eq(ret, i == 0 ? HG_SUCCESS : HG_INVALID_ARG);
        if (ret == HG_SUCCESS)
            ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    }
}
END_TEST

int
main(int argc, char **argv)
{
    TCase *tcase = tcase_create("settings");

    for (size_t i = 0; i < sizeof transports / sizeof transports[0]; i++)
        if (argc > 1 && strcmp(argv[1], transports[i].info) == 0)
            transport = &transports[i];
    if (!transport) {
        fprintf(stderr, "usage: %s INFO\n", argv[0]);
        return EXIT_FAILURE;
    }
    tcase_add_checked_fixture(tcase, begin, log_watch_check);
    tcase_add_test(tcase, settings_of_two_classes_of_one_program_differ);
    tcase_add_test(tcase, settings_of_the_environment_are_defaults);
    tcase_add_test(tcase, settings_that_are_invalid_are_named);
    tcase_add_test(tcase, settings_of_both_transports_with_auto_sm);
    return run_tcase("settings", tcase);
}

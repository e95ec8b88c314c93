/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: opening and closing, two hosts, leaks, fork. */
#include "check/cases.h"
#include "check/class.h"
#include "check/host.h"
#include "check/run.h"
#include "check/setting.h"
#include "check/shared.h"
#include "check/target.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void
first(void)
{
    struct kit_side *side = kit_local(NULL);
    struct kit_class *cls = kit_class_of(side);
    struct kit_facts *facts = &kit_shared->facts;

    facts->rma = kit_class_offers(cls, KIT_NEEDS_RMA);
    facts->multi_recv = kit_class_offers(cls, KIT_NEEDS_MULTI_RECV);
    facts->wait = kit_class_offers(cls, KIT_NEEDS_WAIT);
    facts->serialize = kit_class_offers(cls, KIT_NEEDS_SERIALIZE);
    facts->alloc = kit_class_offers(cls, KIT_NEEDS_ALLOC);
    facts->report = kit_class_offers(cls, KIT_NEEDS_REPORT);
    facts->forget = kit_class_offers(cls, KIT_NEEDS_FORGET);
    facts->max_contexts = cls->opened.max_contexts;
    snprintf(facts->name, sizeof facts->name, "%s", cls->plugin->name);
    snprintf(facts->version, sizeof facts->version, "%s", cls->plugin->version);
    snprintf(
        facts->protocol, sizeof facts->protocol, "%s", kit_target.protocol);
    facts->known = true;
    kit_close(side);
}

const struct kit_case kit_case_first = {"opens", 12, 0, 0, 0,
    "a class opens with what it must offer, and closes", first};

/* A class sends a message to another one, and both are closed. */
static void
whole_cycle(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_local(NULL);
    uint64_t length = kit_opened(a)->unexpected_header_size + 100;

    kit_lookup_both(a, b);
    kit_recv_unexpected(b, 0, length);
    kit_send_unexpected(a, 0, b, length, 1, 1);
    kit_await_message(b, 0, 11, length, 1, 1, kit_number(a));
    kit_await_ok(a, 0, 7);
    kit_close(a);
    kit_close(b);
}

/* Any value within the range is valid. */
static void
settings_hold(void)
{
    const na_plugin_setting *const *list = kit_target_load()->settings;

    if (!list || !*list)
        kit_not_offered("the plugin lists no settings");
    for (; *list; list++) {
        kit_setting_force(*list, (*list)->initial);
        whole_cycle();
        if ((*list)->kind != NA_PLUGIN_SETTING_BOOLEAN)
            continue;
        kit_setting_force(*list, kit_setting_number(*list) ? "no" : "yes");
        whole_cycle();
    }
    kit_setting_force(NULL, NULL);
}

/* Returns the smallest growth of the process in several rounds. A leak shows in
 * each round; another arena of the allocator, as for a library's thread, in
 * one. */
static long
least_growth(uint32_t cycles, long bound)
{
    long least = LONG_MAX;

    for (int round = 0; round < 4 && least >= bound; round++) {
        long kib = kit_anonymous_kib(), grown;

        for (uint32_t i = 0; i < cycles; i++)
            whole_cycle();
        grown = kit_anonymous_kib() - kib;
        least = grown < least ? grown : least;
    }
    return least;
}

static void
open_close_repeated(void)
{
    const uint32_t cycles = kit_times(100);
    uint32_t fds, threads;
    long grown;

    /* What a library initializes once stays. */
    for (int i = 0; i < 5; i++)
        whole_cycle();
    fds = kit_descriptors();
    threads = kit_threads();
    grown = least_growth(cycles, 16 * (long) cycles);
    kit_expect(kit_descriptors() <= fds, 12, "closing gives descriptors back",
        "%u before, %u after %u times", fds, kit_descriptors(), cycles);
    kit_expect(kit_threads() <= threads, 12,
        "closing ends the threads of a class", "%u before, %u after", threads,
        kit_threads());
    kit_expect(grown < 16 * (long) cycles, 12, "closing gives memory back",
        "%ld KiB more after each %u times", grown, cycles);
}

/* Flags of each descriptor, by number; 0: not open. */
#define FDS 1024
static void
list_fds(bool *there)
{
    for (int fd = 0; fd < FDS; fd++)
        there[fd] = fcntl(fd, F_GETFD) >= 0;
}

static void
close_on_exec(void)
{
    static bool before[FDS], after[FDS];
    struct kit_side *a, *b;
    uint64_t length;

    list_fds(before);
    a = kit_local(NULL);
    b = kit_remote(0, NULL);
    length = kit_opened(a)->unexpected_header_size + 8;
    kit_lookup_both(a, b);
    kit_recv_unexpected(a, 0, length);
    kit_send_unexpected(b, 0, a, length, 0, 0);
    kit_await_message(a, 0, 11, length, 0, 0, kit_number(b));
    /* libraries may still open descriptors after the connection, and plugins set
     * their flags */
    kit_run_for(kit_quiet() / 4);
    list_fds(after);
    for (int fd = 0; fd < FDS; fd++)
        kit_expect(
            before[fd] || !after[fd] || (fcntl(fd, F_GETFD) & FD_CLOEXEC), 12,
            "descriptors are opened close-on-exec", "descriptor %d is not", fd);
}

/* Signal dispositions and environment variables. */
static void
process_untouched(void)
{
    struct sigaction before[NSIG], after;
    extern char **environ;
    uint32_t variables = 0, count = 0;

    for (char **p = environ; *p; p++)
        variables++;
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &before[i]) != 0)
            before[i].sa_handler = SIG_ERR;
    whole_cycle();
    for (int i = 1; i < NSIG; i++)
        kit_expect(before[i].sa_handler == SIG_ERR ||
                       (sigaction(i, NULL, &after) == 0 &&
                           after.sa_handler == before[i].sa_handler),
            12, "the dispositions of signals stay as they were",
            "that of signal %d changed", i);
    for (char **p = environ; *p; p++)
        count++;
    kit_expect(count == variables, 12, "the environment stays as it was",
        "%u variables, not %u", count, variables);
}

/* Two hosts at a time, closed in either order while the other works. */
static void
two_hosts(void)
{
    for (uint32_t round = 0; round < 2; round++) {
        struct kit_side *a = kit_local(NULL), *b = kit_local(NULL);
        struct kit_side *c = kit_local(NULL);
        uint64_t length = kit_opened(a)->unexpected_header_size + 100;

        kit_expect(kit_class_of(a)->cls != kit_class_of(b)->cls, 2,
            "each open makes a class of its own", "the same twice");
        kit_close(round == 0 ? a : b);
        if (round == 0)
            a = b;
        kit_lookup_both(a, c);
        kit_recv_unexpected(c, 0, length);
        kit_send_unexpected(a, 0, c, length, 1, 1);
        kit_await_message(c, 0, 11, length, 1, 1, kit_number(a));
        kit_close(a);
        kit_close(c);
    }
}

/* Opens with one invalid value. Returns the number of lines at level ERROR. */
static uint32_t
refused(const na_plugin_open_info *info, const char *what)
{
    uint32_t lines;
    struct kit_class *cls = calloc(1, sizeof *cls);
    int32_t result;

    if (!cls)
        kit_not_run("out of memory");
    result = kit_class_try(cls, info);
    kit_expect(result == NA_PLUGIN_E_INVALID_ARG, 4,
        "what open does not know it refuses with INVALID_ARG", "%s: %s", what,
        kit_code_text(result));
    lines = atomic_load_explicit(&cls->errors, memory_order_relaxed);
    free(cls);
    return lines;
}

/* A failing open logs the reason, once. */
static void
open_failure_explained(void)
{
    static const struct kit_open_options usual;
    na_plugin_open_info info;
    uint32_t lines;

    kit_target_load();
    kit_class_info(&info, &usual);
    info.flags |= 1U << 30;
    lines = refused(&info, "an unknown flag");
    kit_expect(lines == 1, 14, "a failing open logs one line at level ERROR",
        "%u lines", lines);
}

static void
unknown_bits(void)
{
    static const struct kit_open_options usual;
    na_plugin_open_info info;

    kit_target_load();
    kit_class_info(&info, &usual);
    info.flags |= 1U << 30;
    refused(&info, "an unknown flag");
    kit_class_info(&info, &usual);
    info.addr_format = 77;
    refused(&info, "an unknown address format");
    kit_class_info(&info, &usual);
    info.traffic_class = 77;
    refused(&info, "an unknown traffic class");
}

/* A class to be opened, and a usual info. */
static struct kit_class *
new_class(na_plugin_open_info *info)
{
    static const struct kit_open_options usual;
    struct kit_class *cls = calloc(1, sizeof *cls);

    if (!cls)
        kit_not_run("out of memory");
    kit_target_load();
    kit_class_info(info, &usual);
    return cls;
}

static void
accepted(struct kit_class *cls, const na_plugin_open_info *info,
    const char *expected)
{
    int32_t result = kit_class_try(cls, info);

    kit_expect(
        result == NA_PLUGIN_OK, 4, expected, "%s", kit_code_text(result));
    kit_class_close(cls);
}

/* Hints that open does not know are ignored; known ones still apply. */
static void
unknown_hints(void)
{
    na_plugin_open_info info;
    struct kit_class *cls = new_class(&info);

    info.thread_mode = 1U << 20;
    info.hints = 1U << 30;
    accepted(cls, &info,
        "bits of hints and thread_mode that open does not know are ignored");
}

/* The tables of an older core. */
static void
tables_of_1_0(void)
{
    na_plugin_open_info info;
    struct kit_class *cls = new_class(&info);

    cls->tables_1_0 = true;
    accepted(cls, &info, "tables of ABI 1.0 are accepted");
}

/* The open_info of a newer core, with fields that the plugin does not know. */
static void
longer_info(void)
{
    struct {
        na_plugin_open_info info;
        unsigned char beyond[KIT_BEYOND];
    } room;
    struct kit_class *cls = new_class(&room.info);

    memset(room.beyond, 0x77, sizeof room.beyond);
    room.info.size = sizeof room;
    accepted(cls, &room.info, "longer tables of a newer core are accepted");
}

static void
other_protocol(void)
{
    const na_plugin *table = kit_target_load();
    na_plugin_open_info info;
    struct kit_class *cls = new_class(&info);
    int32_t result;

    info.protocol = "no-such-protocol";
    result = kit_class_try(cls, &info);
    kit_expect(
        result == NA_PLUGIN_E_PROTONOSUPPORT ||
            (table->flags & NA_PLUGIN_OTHER_PROTOCOLS && result < NA_PLUGIN_OK),
        12, "an unknown protocol is refused with PROTONOSUPPORT", "%s",
        kit_code_text(result));
    kit_expect(atomic_load_explicit(&cls->errors, memory_order_relaxed) == 1,
        14, "a failing open logs one line at level ERROR", "%u lines",
        atomic_load_explicit(&cls->errors, memory_order_relaxed));
    free(cls);
}

/* The device information. */
static void
device_found(void *arg, const na_plugin_device *device)
{
    uint32_t *count = arg;

    if (!device || device->size < NA_PLUGIN_DEVICE_SIZE_1_0)
        kit_fail(3, "a device's table is as long as in 1.0", "%u bytes",
            device ? device->size : 0);
    kit_expect(device->protocol && *device->protocol, 12,
        "a device has a protocol", "it has none");
    kit_expect(device->reserved_zero == 0, 4, "what must be zero is",
        "it is not, in a device");
    ++*count;
}

static void
devices(void)
{
    const na_plugin *table = kit_target_load();
    struct kit_class *cls = calloc(1, sizeof *cls);
    uint32_t all = 0, one = 0, none = 0;
    int32_t result;

    if (!table->info)
        kit_not_offered("no info");
    if (!cls)
        kit_not_run("out of memory");
    cls->plugin = table;
    kit_host_init(cls);
    result = table->info(&cls->host.table, NULL, &all, device_found);
    kit_expect(result == NA_PLUGIN_OK, 12, "info lists all devices", "%s",
        kit_code_text(result));
    result =
        table->info(&cls->host.table, kit_target.protocol, &one, device_found);
    kit_expect(result == NA_PLUGIN_OK && one >= 1, 12,
        "info has a device for a protocol that opens here", "%s, %u devices",
        kit_code_text(result), one);
    result =
        table->info(&cls->host.table, "no-such-protocol", &none, device_found);
    kit_expect(result == NA_PLUGIN_E_PROTONOSUPPORT ||
                   table->flags & NA_PLUGIN_OTHER_PROTOCOLS,
        12, "info: PROTONOSUPPORT for an unknown protocol", "%s",
        kit_code_text(result));
    free(cls);
}

/* A child that only exits or executes a program, during traffic. */
static void
fork_survived(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_remote(0, NULL);
    uint64_t length = kit_opened(a)->unexpected_header_size + 100;

    kit_lookup_both(a, b);
    for (uint32_t i = 0; i < 40; i++) {
        pid_t child = -1;
        int status = 0;

        kit_recv_unexpected(b, 0, length);
        if (i % 4 == 1)
            child = fork();
        if (child == 0) {
            if (i % 8 == 1)
                execl("/bin/true", "true", (char *) NULL);
            _exit(0);
        }
        kit_send_unexpected(a, 0, b, length, i, i);
        kit_await_message(b, 0, 12, length, i, i, kit_number(a));
        kit_await_ok(a, 0, 12);
        if (child > 0 && (waitpid(child, &status, 0) != child || status != 0))
            kit_fail(12, "a forked child exits or executes in peace",
                "its status is %d", status);
    }
}

/* A second class at the address of the first one. */
static void
address_in_use(void)
{
    struct kit_side *a = kit_local(NULL);
    static struct kit_class second;
    struct kit_open_options how = {.at = kit_address(a)};
    na_plugin_open_info info;
    int32_t result;

    kit_class_info(&info, &how);
    result = kit_class_try(&second, &info);
    if (result == NA_PLUGIN_OK)
        kit_not_offered("a class opens where another one listens");
    kit_expect(atomic_load_explicit(&second.errors, memory_order_relaxed) > 0,
        14, "an open that fails logs the reason at level ERROR",
        "%s, and no line", kit_code_text(result));
}

static const struct kit_case cases[] = {
    {"open_settings", 12, 0, 0, 0,
        "classes work with each setting set to its default, and with each "
        "boolean inverted",
        settings_hold},
    {"open_close_repeated", 12, 0, 0, 0,
        "open and close a hundred times leak no descriptor, thread or memory",
        open_close_repeated},
    {"two_hosts", 2, 0, 0, 0, "several hosts share a plugin", two_hosts},
    {"unknown_bits", 4, 0, 0, 0,
        "bits and values that open does not know are refused", unknown_bits},
    {"unknown_hints", 4, 0, 0, 0, "hints that open does not know are ignored",
        unknown_hints},
    {"tables_of_1_0", 4, 0, 0, 0, "tables of ABI 1.0 are accepted",
        tables_of_1_0},
    {"longer_info", 4, 0, 0, 0, "tables of a newer core are accepted",
        longer_info},
    {"open_failure_explained", 14, 0, 0, 0, "a failing open logs the reason",
        open_failure_explained},
    {"address_in_use", 14, 0, 0, 0,
        "opening at an address in use fails with a logged reason",
        address_in_use},
    {"other_protocol", 14, 0, 0, 0, "an unknown protocol is refused",
        other_protocol},
    {"devices", 12, 0, 0, 0, "info lists the devices of a protocol", devices},
    {"close_on_exec", 12, 0, 1, 0, "descriptors are close-on-exec",
        close_on_exec},
    {"process_untouched", 12, 0, 0, 0,
        "signal dispositions and environment of the process are unchanged",
        process_untouched},
    {"fork_survived", 12, 0, 1, 0, "a class survives a fork of its process",
        fork_survived},
};

const struct kit_group kit_cases_lifecycle = {
    cases, sizeof cases / sizeof cases[0]};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments of a test program: its transport, and the modes in which cases
 * run. */
#include "counts.h"
#include "runner.h"
#include "session_internal.h"
#include "talaria.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LATE_POLLS 3U

static const char *transport = "loop+mem";
static bool auto_sm;
static bool one_mode;
static bool only_threads;

static const struct loop_limits odd_limits = {
    .max_unexpected_size = 1000,
    .max_expected_size = 1224,
    .unexpected_header_size = 24,
    .expected_header_size = 40,
    .max_tag = 0x7fff,
    .max_segments = 1,
    .max_rma_size = 1000,
    .op_pad = 40,
};
static const struct loop_limits napping_limits = {.no_wait = true};
static const struct loop_limits waking_limits = {.no_wait = true, .wake = true};

static const struct session_mode loop_modes[] = {
    {.name = "self", .shape = SESSION_SELF},
    {.name = "self, busy, odd limits",
        .shape = SESSION_SELF,
        .progress_mode = NA_NO_BLOCK,
        .limits = &odd_limits},
    {.name = "self, single thread, late",
        .shape = SESSION_SELF,
        .thread_mode = NA_THREAD_MODE_SINGLE,
        .late = true},
    {.name = "threads", .shape = SESSION_THREADS},
    {.name = "threads, odd limits, late",
        .shape = SESSION_THREADS,
        .limits = &odd_limits,
        .late = true},
    {.name = "threads, single thread each",
        .shape = SESSION_THREADS,
        .thread_mode = NA_THREAD_MODE_SINGLE},
    {.name = "threads, busy",
        .shape = SESSION_THREADS,
        .progress_mode = NA_NO_BLOCK},
    {.name = "threads, napping",
        .shape = SESSION_THREADS,
        .limits = &napping_limits},
    {.name = "threads, woken",
        .shape = SESSION_THREADS,
        .limits = &waking_limits},
};

/* The first modes differ most. Only they run in every test run over transports
 * between hosts, where each costs more. */
static const struct session_mode other_modes[] = {
    {.name = "self", .shape = SESSION_SELF, .loopback = true},
    {.name = "threads, busy",
        .shape = SESSION_THREADS,
        .progress_mode = NA_NO_BLOCK},
    {.name = "processes", .shape = SESSION_PROCESSES},
    {.name = "threads, single thread each",
        .shape = SESSION_THREADS,
        .thread_mode = NA_THREAD_MODE_SINGLE},
    {.name = "processes, busy",
        .shape = SESSION_PROCESSES,
        .progress_mode = NA_NO_BLOCK},
    {.name = "self, busy", .shape = SESSION_SELF, .progress_mode = NA_NO_BLOCK},
    {.name = "self, single thread",
        .shape = SESSION_SELF,
        .thread_mode = NA_THREAD_MODE_SINGLE,
        .loopback = true},
    {.name = "threads", .shape = SESSION_THREADS},
    {.name = "processes, single thread",
        .shape = SESSION_PROCESSES,
        .thread_mode = NA_THREAD_MODE_SINGLE},
};

#define COUNT(array) ((int) (sizeof(array) / sizeof(array)[0]))

const char *
session_transport(void)
{
    return transport;
}

const char *
session_protocol(void)
{
    static char protocol[64];
    const char *host = strstr(transport, "://");

    snprintf(protocol, sizeof protocol, "%.*s",
        host ? (int) (host - transport) : (int) sizeof protocol, transport);
    return protocol;
}

bool
session_is_loop(void)
{
    return strncmp(transport, "loop+", 5) == 0;
}

bool
session_is_hosts(void)
{
    return strncmp(transport, "ofi+", 4) == 0 ||
           strncmp(transport, "ucx+", 4) == 0;
}

bool
session_only_polls(void)
{
    return strcmp(session_protocol(), "ofi+shm") == 0 ||
           strcmp(session_protocol(), "ofi+sockets") == 0;
}

int
session_first_mode(void)
{
    int mode = 0;

    while (one_mode && other_modes[mode].shape != SESSION_PROCESSES)
        mode++;
    return mode;
}

int
session_modes(void)
{
    if (session_is_loop())
        return COUNT(loop_modes);
    if (one_mode)
        return session_first_mode() + 1;
    return session_is_hosts() ? (int) test_count(TEST_HOST_MODES)
                              : COUNT(other_modes);
}

const struct session_mode *
session_mode_at(int mode)
{
    return session_is_loop() ? &loop_modes[mode] : &other_modes[mode];
}

hg_class_t *
session_open_class(const struct session_mode *mode,
    const struct session_setup *setup, bool listen)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    info.na_init_info.progress_mode = mode->progress_mode;
    info.na_init_info.thread_mode = mode->thread_mode;
    info.no_loopback = !mode->loopback;
    info.auto_sm = auto_sm;
    info.no_multi_recv = 1; /* has its own cases */
    if (setup && setup->init)
        setup->init(&info);
    return HG_Init_opt2(transport, listen, HG_VERSION(2, 4), &info);
}

void
session_prepare(const struct session_mode *mode)
{
    static const enum loop_kind kinds[] = {
        LOOP_SEND_UNEXPECTED, LOOP_SEND_EXPECTED, LOOP_PUT, LOOP_GET};
    static const struct loop_limits usual;

    if (!session_is_loop())
        return;
    ck_assert_int_eq(talaria_plugin_register(&loop_plugin), NA_SUCCESS);
    loop_faults_clear();
    loop_limits_set(mode->limits ? mode->limits : &usual);
    for (int i = 0; mode->late && i < COUNT(kinds); i++)
        loop_fault_set(kinds[i],
            (struct loop_fault){.act = LOOP_LATER, .delay = LATE_POLLS});
}

/* Some versions of libfabric's shm are refused with a message that names what
 * to use instead. Other errors show in the cases. */
static void
skip_refused(void)
{
    struct talaria_open_result *result = NULL;

    if (strcmp(session_protocol(), "ofi+shm") != 0 ||
        talaria_open_report(&result) != NA_SUCCESS)
        return;
    if (result->text != NULL && strstr(result->text, "use na+sm") != NULL) {
        printf("skipped: %s\n", result->text);
        exit(77);
    }
    talaria_open_report_free(result);
}

/* libfabric enumerates devices on first use, which takes 0.1 s of processor
 * time and 0.2 s asleep. Each case is a forked process and inherits the
 * result. */
static void
warm_up(void)
{
    hg_class_t *hg_class;

    if (strncmp(transport, "ofi+", 4) != 0)
        return;
    hg_class = HG_Init(transport, HG_FALSE);
    if (hg_class)
        HG_Finalize(hg_class);
    else
        skip_refused();
    HG_Cleanup();
}

void
session_add(TCase *tcase, const TTest *test)
{
    for (int mode = session_first_mode(); mode < session_modes(); mode++)
        if (!only_threads || session_mode_at(mode)->shape == SESSION_THREADS)
            tcase_add_loop_test(tcase, test, mode, mode + 1);
}

int
session_main(int argc, char **argv, const char *name, void (*add)(TCase *tcase))
{
    TCase *tcase = tcase_create(name);
    bool no_soak = (int) test_count(TEST_HOST_MODES) < COUNT(other_modes);

    if (argc > 1)
        transport = argv[1];
    for (int i = 2; i < argc; i++) {
        auto_sm |= strcmp(argv[i], "auto_sm") == 0;
        one_mode |= no_soak && strcmp(argv[i], "one") == 0;
        only_threads |= no_soak && strcmp(argv[i], "threads") == 0;
    }
    add(tcase);
    warm_up();
    session_wait_prepare();
    return run_tcase(name, tcase);
}

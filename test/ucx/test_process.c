/* SPDX-License-Identifier: BSD-3-Clause */
/* Effects of UCX on the process that must be prevented: signals, environment,
 * descriptors, output. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "entries.h"
#include "runner.h"
#include "side.h"

#define RESTORER 0x04000000 /* the C library's own flag */

extern char **environ;

static void
on_signal(int number)
{
    _exit(number == SIGSEGV ? 42 : 43);
}

/* In a process of its own: the plugin is loaded after the handlers are set. */
static void
signals_stay(void *arg)
{
    struct sigaction own = {.sa_handler = on_signal};
    struct sigaction before[NSIG], after;
    struct side side = {.log_level = 0};

    sigaction(SIGSEGV, &own, NULL);
    sigaction(SIGTERM, &own, NULL);
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &before[i]) != 0)
            memset(&before[i], 0, sizeof(before[i]));
    side_open(&side, arg, "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &after) == 0 &&
            (after.sa_handler != before[i].sa_handler ||
                (after.sa_flags & ~RESTORER) !=
                    (before[i].sa_flags & ~RESTORER)))
            _exit(i);
    raise(SIGSEGV);
    _exit(0);
}

START_TEST(signals_keep_their_dispositions)
{
    static char *protocols[] = {"tcp", "all"};
    int status;
    pid_t pid = spawn(signals_stay, protocols[_i]);

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 42,
        "status %d: a signal's disposition changed", status);
}
END_TEST

/* A default disposition is kept: the signal itself kills the process. */
static void
crash(void *arg)
{
    struct side side = {.log_level = 0};

    signal(SIGSEGV, SIG_DFL);
    side_open(&side, arg, "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    raise(SIGSEGV);
}

START_TEST(signals_by_default_kill_as_they_do)
{
    int status;
    pid_t pid = spawn(crash, "tcp");

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGSEGV);
}
END_TEST

START_TEST(environment_stays_as_it_was)
{
    struct side side = {.log_level = 0};
    uint32_t before = 0;
    uint32_t after = 0;

    for (char **p = environ; *p != NULL; p++)
        before++;
    side_open(&side, "all", "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    side_close(&side);
    for (char **p = environ; *p != NULL; p++)
        after++;
    ck_assert_uint_eq(before, after);
}
END_TEST

START_TEST(descriptors_are_closed_with_the_class)
{
    struct side side = {.log_level = 0};
    char name[SIDE_TEXT];
    uint32_t first = 0;

    for (uint32_t i = 0; i < 6; i++) {
        pid_t pid = echo_start("tcp", "127.0.0.1", 0, name);
        side_open(&side, "tcp", "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
        na_plugin_addr *addr = side_lookup(&side, name);
        ck_assert_int_eq(echo_trip(&side, addr, 1), NA_PLUGIN_OK);
        echo_stop(pid, SIGKILL);
        side.ops->addr_free(side.cls, addr);
        side_close(&side);
        if (i == 0)
            first = count_descriptors();
    }
    ck_assert_uint_eq(count_descriptors(), first);
}
END_TEST

/* Transports in the environment are overridden by the info string, which is
 * logged. */
START_TEST(environment_is_overridden_by_the_info_string)
{
    struct side side = {.expected = "UCX_TLS=posix"};
    struct side local = {.expected = "UCX_NET_DEVICES=nodev0"};
    char name[SIDE_TEXT];

    pid_t pid = echo_start("tcp", "127.0.0.1", 0, name);
    setenv("UCX_TLS", "posix", 1);
    side_open(&side, "tcp", "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    unsetenv("UCX_TLS");
    ck_assert_uint_eq(side.matched, 1);
    setenv("UCX_NET_DEVICES", "nodev0", 1);
    ck_assert_int_eq(
        side_try(&local, "tcp", "lo", "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN),
        NA_PLUGIN_OK);
    unsetenv("UCX_NET_DEVICES");
    ck_assert_uint_eq(local.matched, 1);
    side_close(&local);
    na_plugin_addr *addr = side_lookup(&side, name);
    ck_assert_int_eq(echo_trip(&side, addr, 1), NA_PLUGIN_OK);
    echo_stop(pid, SIGKILL);
    side.ops->addr_free(side.cls, addr);
    side_close(&side);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, signals_keep_their_dispositions, 0, 2);
    tcase_add_test(tcase, signals_by_default_kill_as_they_do);
    tcase_add_test(tcase, environment_stays_as_it_was);
    tcase_add_test(tcase, descriptors_are_closed_with_the_class);
    tcase_add_test(tcase, environment_is_overridden_by_the_info_string);
    return run_tcase("ucx process", tcase);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Verdicts, steps and crashes of the processes of a case. */
#include "check/shared.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct kit_shared *kit_shared;
const struct kit_case *kit_running;

static uint32_t slot;
static _Thread_local bool main_thread;

struct kit_shared *
kit_shared_create(void)
{
    void *memory = mmap(NULL, sizeof(struct kit_shared), PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

void
kit_shared_destroy(struct kit_shared *shared)
{
    if (shared)
        munmap(shared, sizeof *shared);
}

/* The first verdict is kept; other processes exit silently. */
static bool
take(enum kit_verdict verdict, uint32_t rule)
{
    if (atomic_exchange_explicit(&kit_shared->taken, 1, memory_order_relaxed) !=
        0)
        return false;
    kit_shared->verdict = verdict;
    kit_shared->rule = rule;
    return true;
}

/* A second process waits until the first has written its verdict, since the kit
 * ends the case when the first process exits. */
__attribute__((noreturn)) static void
leave(bool taken)
{
    if (taken)
        /* Pairs with the acquire below and with the end of the process. */
        atomic_store_explicit(&kit_shared->written, 1, memory_order_release);
    else
        for (int i = 0; i < 1000; i++) {
            if (atomic_load_explicit(
                    &kit_shared->written, memory_order_acquire) != 0)
                break;
            usleep(1000);
        }
    _exit(KIT_EXIT_VERDICT);
}

__attribute__((format(printf, 3, 0))) static void
fail_text(
    uint32_t rule, const char *expected, const char *found, va_list values)
{
    bool taken = take(KIT_FAILED, rule);

    if (taken) {
        snprintf(
            kit_shared->expected, sizeof kit_shared->expected, "%s", expected);
        vsnprintf(kit_shared->found, sizeof kit_shared->found, found, values);
    }
    leave(taken);
}

void
kit_fail(uint32_t rule, const char *expected, const char *found, ...)
{
    va_list values;

    va_start(values, found);
    fail_text(rule, expected, found, values);
    va_end(values);
    _exit(KIT_EXIT_VERDICT);
}

void
kit_expect(bool ok, uint32_t rule, const char *expected, const char *found, ...)
{
    va_list values;

    if (ok)
        return;
    va_start(values, found);
    fail_text(rule, expected, found, values);
    va_end(values);
}

__attribute__((noreturn, format(printf, 2, 0))) static void
end_otherwise(enum kit_verdict verdict, const char *reason, va_list values)
{
    bool taken = take(verdict, 0);

    if (taken)
        vsnprintf(kit_shared->found, sizeof kit_shared->found, reason, values);
    leave(taken);
}

void
kit_not_offered(const char *reason, ...)
{
    va_list values;

    va_start(values, reason);
    end_otherwise(KIT_NOT_OFFERED, reason, values);
}

void
kit_not_run(const char *reason, ...)
{
    va_list values;

    va_start(values, reason);
    end_otherwise(KIT_NOT_RUN, reason, values);
}

void
kit_step(const char *text)
{
    atomic_store_explicit(
        &kit_shared->slots[slot].step, text, memory_order_relaxed);
}

uint64_t
kit_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000U + (uint64_t) now.tv_nsec;
}

const char *
kit_call_enter(const char *name)
{
    const char *before = NULL;

    if (main_thread) {
        before = atomic_load_explicit(
            &kit_shared->slots[slot].call, memory_order_relaxed);
        atomic_store_explicit(
            &kit_shared->slots[slot].call, name, memory_order_relaxed);
    }
    return before;
}

void
kit_call_leave(const char *before)
{
    if (main_thread)
        atomic_store_explicit(
            &kit_shared->slots[slot].call, before, memory_order_relaxed);
}

void
kit_shared_log(int32_t level, const char *text)
{
    static const char *const names[] = {
        "", "error", "warning", "info", "debug"};
    uint32_t line =
        atomic_fetch_add_explicit(&kit_shared->lines, 1, memory_order_relaxed) %
        KIT_LINES;

    /* Acquire: pairs with the release below. A line is lost if its entry is
     * still being written. */
    if (atomic_exchange_explicit(
            &kit_shared->writing[line], true, memory_order_acquire))
        return;
    snprintf(kit_shared->log[line], KIT_LINE_MAX, "%s: %s",
        level >= 0 && level <= NA_PLUGIN_LOG_DEBUG ? names[level] : "?", text);
    /* Release: pairs with the exchange above. */
    atomic_store_explicit(
        &kit_shared->writing[line], false, memory_order_release);
}

/* Async-signal-safe, except in a process that is lost anyway. */
static void
on_crash(int number, siginfo_t *info, void *context)
{
    const char *call = atomic_load_explicit(
        &kit_shared->slots[slot].call, memory_order_relaxed);
    const char *text;
    uint32_t rule;

    signal(number, SIG_DFL);
    if ((number == SIGSEGV || number == SIGBUS) && info->si_code > 0 &&
        kit_guard_explain(info->si_addr, &rule, &text))
        kit_fail(rule, text, "it was touched at %p%s%s", info->si_addr,
            call && main_thread ? " within " : "",
            call && main_thread ? call : "");
    kit_fail(kit_running->rule, "no crash", "signal %d (%s)%s%s", number,
        strsignal(number), call && main_thread ? " within " : "",
        call && main_thread ? call : "");
}

void
kit_shared_enter(uint32_t number)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    static char stack[65536];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {
        .sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    slot = number;
    main_thread = true;
    sigaltstack(&alternative, NULL);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaction(signals[i], &action, NULL);
}

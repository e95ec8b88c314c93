/* SPDX-License-Identifier: BSD-3-Clause */
/* When it is loaded UCX installs handlers for SIGSEGV and others, so that it may
 * print a backtrace. They are given back, if they are UCX's still. */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <ucs/debug/debug.h>

#include "process.h"

uint64_t
ucx_process_number(void)
{
    static _Atomic uint64_t number;
    uint64_t drawn = 0;
    uint64_t none = 0;

    if (atomic_load_explicit(&number, memory_order_relaxed) == 0) {
        if (getrandom(&drawn, sizeof(drawn), 0) != (ssize_t) sizeof(drawn))
            drawn = (uint64_t) getpid();
        atomic_compare_exchange_strong_explicit(&number, &none, drawn | 1,
            memory_order_relaxed, memory_order_relaxed);
    }
    return atomic_load_explicit(&number, memory_order_relaxed);
}

/* Whether a function lies in the same library as UCX's debug part. */
static bool
is_ucx(const void *function)
{
    Dl_info own;
    Dl_info other;
    void (*of_ucx)(int) = ucs_debug_disable_signal;
    void *known;

    memcpy(&known, &of_ucx, sizeof(known));
    return function != NULL && dladdr(known, &own) != 0 &&
           dladdr(function, &other) != 0 && own.dli_fbase == other.dli_fbase;
}

void
ucx_process_restore_signals(void)
{
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;
        void *handler = NULL;
        if (sigaction(i, NULL, &action) != 0)
            continue;
        if ((action.sa_flags & SA_SIGINFO) != 0)
            memcpy(&handler, &action.sa_sigaction, sizeof(handler));
        else if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN)
            memcpy(&handler, &action.sa_handler, sizeof(handler));
        if (is_ucx(handler))
            ucs_debug_disable_signal(i);
    }
}

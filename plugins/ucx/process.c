/* SPDX-License-Identifier: BSD-3-Clause */
/* When it is loaded UCX installs handlers for SIGSEGV and others, so that it may
 * print a backtrace. They are given back, if they are UCX's still. */
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
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

/* Where a library is mapped: from begin up to end. */
struct mapping {
    uintptr_t begin;
    uintptr_t end;
};

static bool
contains(const struct mapping *mapping, uintptr_t address)
{
    return mapping->begin <= address && address < mapping->end;
}

/* Ends the walk at the library with UCX's debug part. */
static int
find_ucx(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct mapping found = {.begin = UINTPTR_MAX};

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD)
            continue;
        if (begin < found.begin)
            found.begin = begin;
        if (begin + part->p_memsz > found.end)
            found.end = begin + part->p_memsz;
    }
    if (!contains(&found, (uintptr_t) ucs_debug_disable_signal))
        return 0;
    *(struct mapping *) arg = found;
    return 1;
}

/* The address of the function that handles a signal; small numbers: none does. */
static uintptr_t
handler_of(int number)
{
    struct sigaction action;

    if (sigaction(number, NULL, &action) != 0)
        return 0;
    return (action.sa_flags & SA_SIGINFO) != 0 ? (uintptr_t) action.sa_sigaction
                                               : (uintptr_t) action.sa_handler;
}

void
ucx_process_restore_signals(void)
{
    struct mapping ucx;

    if (dl_iterate_phdr(find_ucx, &ucx) == 0)
        return;
    for (int i = 1; i < NSIG; i++)
        if (contains(&ucx, handler_of(i)))
            ucs_debug_disable_signal(i);
}

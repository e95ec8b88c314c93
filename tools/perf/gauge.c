/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes a cache line between this thread and a helper process. The helper
 * sleeps in the kernel until a measurement starts, then answers each odd number
 * with the next even one. */
#include "perf/gauge.h"

#include <errno.h>
#include <linux/futex.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf/clock.h"
#include "perf/process.h"
#include "perf/stats.h"

#define LINE 64
#define BATCH 16 /* round trips between two clock readings */
#define BATCHES_MAX 4096
#define MEASURE_NS (2 * PERF_MS_NS)
/* At least so many, so that preemption does not determine the median. */
#define BATCHES_MIN 64
/* For an answer of the helper. */
#define TIMEOUT_NS (200 * PERF_MS_NS)
/* The helper spins this long before it sleeps again. */
#define IDLE_NS (500 * PERF_MS_NS)
/* Spins between two clock readings. */
#define SPINS 256

struct page {
    _Alignas(LINE) _Atomic uint32_t number; /* the cache line that is passed */
    _Alignas(
        LINE) _Atomic uint32_t started; /* number of measurements; a futex */
    _Alignas(
        LINE) _Atomic uint32_t finished; /* the last measurement that ended */
};
_Static_assert(sizeof(struct page) == (size_t) 3 * LINE, "a line each");

struct perf_gauge {
    struct page *page;
    pid_t helper; /* 0: it has died */
    int32_t cpu_a;
    int32_t cpu_b;
    double batches[BATCHES_MAX];
};

static inline void
spin_hint(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* The helper's side of one measurement. */
static void
answer(struct page *page, uint32_t serial)
{
    uint64_t deadline = perf_clock_now() + IDLE_NS;
    unsigned int spins = 0;

    while (
        atomic_load_explicit(&page->finished, memory_order_relaxed) != serial) {
        uint32_t number =
            atomic_load_explicit(&page->number, memory_order_relaxed);

        if (number & 1) {
            atomic_store_explicit(
                &page->number, number + 1, memory_order_relaxed);
            continue;
        }
        spin_hint();
        if (++spins % SPINS == 0 && perf_clock_now() > deadline)
            return;
    }
}

static void __attribute__((noreturn))
run_helper(struct page *page, pid_t parent)
{
    uint32_t serial = 0;

    signal(SIGINT, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The parent may have ended already. */
    if (getppid() != parent)
        _exit(1);
    /* The helper must not keep the parent's files open. */
    close_range(0, ~0U, 0);
    for (;;) {
        uint32_t started =
            atomic_load_explicit(&page->started, memory_order_relaxed);

        if (started == serial) {
            syscall(
                SYS_futex, &page->started, FUTEX_WAIT, serial, NULL, NULL, 0);
            continue;
        }
        serial = started;
        answer(page, serial);
    }
}

/* Binds the helper to cpu_b, or, if that is unset or the measuring thread's
 * own, to another processor: one that the thread may use, or any if the thread
 * is pinned. */
static bool
set_helper_cpu(
    const struct perf_gauge *gauge, int32_t own, const cpu_set_t *allowed)
{
    bool pinned = CPU_COUNT(allowed) == 1 && gauge->cpu_a >= 0;

    if (gauge->cpu_b >= 0 && gauge->cpu_b != own &&
        perf_process_set_cpu(gauge->helper, gauge->cpu_b))
        return true;
    for (int32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (cpu != own && (pinned || CPU_ISSET((size_t) cpu, allowed)) &&
            perf_process_set_cpu(gauge->helper, cpu))
            return true;
    return false;
}

/* Binds both sides to different processors. *allowed_p: the previous affinity
 * of the measuring thread. */
static bool
set_cpus(const struct perf_gauge *gauge, cpu_set_t *allowed_p)
{
    int32_t own = gauge->cpu_a >= 0 ? gauge->cpu_a : sched_getcpu();

    if (sched_getaffinity(0, sizeof *allowed_p, allowed_p) != 0)
        return false;
    return set_helper_cpu(gauge, own, allowed_p) &&
           perf_process_set_cpu(0, own);
}

bool
perf_gauge_start(int32_t cpu_a, int32_t cpu_b, struct perf_gauge **gauge_p)
{
    struct perf_gauge *gauge = calloc(1, sizeof *gauge);
    pid_t parent = getpid();
    cpu_set_t allowed;
    bool done;

    if (!gauge)
        goto failed;
    gauge->cpu_a = cpu_a;
    gauge->cpu_b = cpu_b;
    gauge->page = mmap(NULL, sizeof *gauge->page, PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (gauge->page == MAP_FAILED)
        goto free_gauge;
    fflush(NULL);
    gauge->helper = fork();
    if (gauge->helper < 0)
        goto unmap_page;
    if (gauge->helper == 0)
        run_helper(gauge->page, parent);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        goto stop;
    done = set_cpus(gauge, &allowed);
    sched_setaffinity(0, sizeof allowed, &allowed);
    if (!done) {
        perf_gauge_stop(gauge);
        gauge = NULL;
    }
    *gauge_p = gauge;
    return true;
stop:
    perf_gauge_stop(gauge);
    goto failed;
unmap_page:
    munmap(gauge->page, sizeof *gauge->page);
free_gauge:
    free(gauge);
failed:
    fprintf(stderr,
        "talaria perf: the machine's gauge could not be started: "
        "%s\n",
        strerror(errno));
    return false;
}

/* Whether the helper answers before the deadline. */
static bool
round_trip(struct page *page, uint32_t number, uint64_t deadline)
{
    atomic_store_explicit(&page->number, number + 1, memory_order_relaxed);
    for (unsigned int spins = 1; atomic_load_explicit(&page->number,
                                     memory_order_relaxed) != number + 2;
         spins++) {
        spin_hint();
        if (spins % SPINS == 0 && perf_clock_now() > deadline)
            return false;
    }
    return true;
}

/* Measures for MEASURE_NS after the helper's first answer. Returns the number
 * of batches. *waited_p: ns without an answer, or 0. */
static size_t
measure_batches(struct perf_gauge *gauge, uint64_t *waited_p)
{
    struct page *page = gauge->page;
    uint32_t number = 0;
    uint64_t start = perf_clock_now(), before, now;
    size_t count = 0;

    *waited_p = 0;
    atomic_store_explicit(&page->number, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&page->started, 1, memory_order_relaxed);
    syscall(SYS_futex, &page->started, FUTEX_WAKE, 1, NULL, NULL, 0);
    if (!round_trip(page, number, start + TIMEOUT_NS)) {
        *waited_p = perf_clock_now() - start;
        return 0;
    }
    start = before = perf_clock_now();
    while (count < BATCHES_MIN ||
           (count < BATCHES_MAX && before - start < MEASURE_NS)) {
        for (int i = 0; i < BATCH; i++) {
            number += 2;
            if (!round_trip(page, number, start + TIMEOUT_NS)) {
                *waited_p = perf_clock_now() - before;
                return 0;
            }
        }
        now = perf_clock_now();
        gauge->batches[count++] = (double) (now - before) / BATCH;
        before = now;
    }
    return count;
}

double
perf_gauge_measure(struct perf_gauge *gauge)
{
    double value = (double) NAN;
    uint64_t waited;
    cpu_set_t allowed;
    size_t count;

    if (!gauge || gauge->helper == 0 ||
        sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return value;
    if (waitpid(gauge->helper, NULL, WNOHANG) != 0) {
        gauge->helper = 0;
        return value;
    }
    if (set_cpus(gauge, &allowed)) {
        count = measure_batches(gauge, &waited);
        atomic_store_explicit(&gauge->page->finished,
            atomic_load_explicit(&gauge->page->started, memory_order_relaxed),
            memory_order_relaxed);
        perf_stats_sort(gauge->batches, count);
        value = perf_stats_quantile(gauge->batches, count, 0.5);
        /* The helper is alive but not scheduled: the machine is that slow. */
        if (waited > 0 && waitpid(gauge->helper, NULL, WNOHANG) != 0) {
            gauge->helper = 0;
            value = (double) NAN;
        } else if (waited > 0) {
            value = (double) waited;
        }
    }
    sched_setaffinity(0, sizeof allowed, &allowed);
    return value;
}

void
perf_gauge_stop(struct perf_gauge *gauge)
{
    if (!gauge)
        return;
    if (gauge->helper > 0) {
        kill(gauge->helper, SIGKILL);
        waitpid(gauge->helper, NULL, 0);
    }
    munmap(gauge->page, sizeof *gauge->page);
    free(gauge);
}

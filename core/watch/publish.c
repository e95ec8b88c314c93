/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page of the process, and the thread that fills it while a reader looks.
 *
 * In each period of 100 ms a window is open, in which calls are observed. It is
 * closed after 250 calls: in a process with more than 2,500 calls a second each
 * counted call stands for several, so that the cost is bounded. With fewer, the
 * window stays open and every call is counted.
 */
#include "watch/publish.h"

#include "watch/call.h"
#include "watch/count.h"
#include "watch/page.h"
#include "watch/scale.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PERIOD_NS UINT64_C(100000000)
#define PERIOD_CALLS 250U

/* However long a reader asks for. */
#define LOOK_MAX_NS UINT64_C(10000000000)

static struct watch_page *page;
static struct watch_body
    *latest; /* of the process: readers may write the page */

/* Under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool window_open;
static unsigned window_calls;
static uint64_t window_began;
static uint64_t window_ns; /* time of closed windows in this period */
static uint64_t period_began;
static uint64_t watched_ns;
static uint64_t counted_ns;

/* Without a name in a folder, and of a fixed size. Left open: readers find it
 * among the descriptors. */
static int
open_file(void)
{
    int fd = memfd_create(WATCH_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -1;
    if (fchmod(fd, S_IRUSR | S_IWUSR) == 0 &&
        ftruncate(fd, (off_t) sizeof(struct watch_page)) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    close(fd);
    return -1;
}

bool
watch_publish_init(void)
{
    void *memory;
    int fd;

    latest = calloc(1, sizeof *latest);
    if (!latest || !watch_count_init()) {
        errno = ENOMEM;
        return false;
    }
    fd = open_file();
    if (fd < 0)
        return false;
    memory =
        mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        close(fd);
        return false;
    }
    page = memory;
    page->size = sizeof *page;
    page->pid = (uint64_t) getpid();
    /* Last: a page without it is not read. */
    __atomic_store_n(&page->magic, WATCH_MAGIC, __ATOMIC_RELEASE);
    return true;
}

/* Called under the lock. */
static void
window_close(uint64_t now)
{
    window_open = false;
    atomic_fetch_sub_explicit(watch_core.observers, 1, memory_order_relaxed);
    window_ns += now - window_began;
}

static void
counted(bool first)
{
    if (first && window_open && ++window_calls >= PERIOD_CALLS)
        window_close(watch_now());
}

void
watch_publish_stage(const struct hg_handle *handle, int stage, int ret)
{
    if (stage == HG_STAGE_ANSWER || stage == HG_STAGE_HANDLER ||
        stage == HG_STAGE_RELEASED)
        return;
    pthread_mutex_lock(&lock);
    counted(watch_count_stage(handle, stage, ret));
    pthread_mutex_unlock(&lock);
}

void
watch_publish_bulk(const struct bulk_op *op)
{
    pthread_mutex_lock(&lock);
    counted(watch_count_bulk(op));
    pthread_mutex_unlock(&lock);
}

/* Ends a period. Returns whether every call was counted: then the window is
 * still open, so that none is missed. */
static bool
period_end(void)
{
    uint64_t now, period;
    bool complete;

    pthread_mutex_lock(&lock);
    now = watch_now();
    period = now - period_began;
    complete = window_open;
    if (complete) {
        watch_count_fold(1.0);
        counted_ns += period;
    } else if (window_ns > 0) {
        watch_count_fold((double) period / (double) window_ns);
    }
    watched_ns += period;
    window_calls = 0;
    window_ns = 0;
    window_began = now;
    period_began = now;
    latest->taken_ns = now;
    latest->watched_ns = watched_ns;
    latest->counted_ns = counted_ns;
    watch_count_copy(latest);
    pthread_mutex_unlock(&lock);
    return complete;
}

/* While a window is open the core has one observer more, so calls are observed.
 */
static void
window_open_now(void)
{
    pthread_mutex_lock(&lock);
    window_open = true;
    window_began = watch_now();
    atomic_fetch_add_explicit(watch_core.observers, 1, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

static void
watch_end(void)
{
    pthread_mutex_lock(&lock);
    if (window_open)
        window_close(watch_now());
    pthread_mutex_unlock(&lock);
}

static void
copy_words(uint64_t *to, const uint64_t *from, size_t size)
{
    for (size_t i = 0; i < size / sizeof *to; i++)
        __atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
}

/* Readers that see an even and unchanged sequence have read one snapshot. */
static void
write_page(void)
{
    struct watch_body *to = &page->body;
    uint32_t before =
        atomic_load_explicit(&page->sequence, memory_order_relaxed) & ~1U;

    atomic_store_explicit(&page->sequence, before + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    copy_words((uint64_t *) to, (const uint64_t *) latest,
        offsetof(struct watch_body, rpcs));
    copy_words((uint64_t *) to->rpcs, (const uint64_t *) latest->rpcs,
        latest->rpc_count * sizeof latest->rpcs[0]);
    copy_words((uint64_t *) to->peers, (const uint64_t *) latest->peers,
        latest->peer_count * sizeof latest->peers[0]);
    copy_words((uint64_t *) to->transports,
        (const uint64_t *) latest->transports,
        latest->transport_count * sizeof latest->transports[0]);
    atomic_store_explicit(&page->sequence, before + 2, memory_order_release);
}

/* Returns whether a reader looks. */
static bool
is_looked_at(void)
{
    uint64_t until =
        atomic_load_explicit(&page->look_until, memory_order_relaxed);
    uint64_t now = watch_now();

    return until > now && until - now <= LOOK_MAX_NS;
}

bool
watch_publish_wait(unsigned timeout_ms)
{
    struct timespec timeout = {.tv_sec = timeout_ms / 1000,
        .tv_nsec = (long) (timeout_ms % 1000) * 1000000};
    uint32_t look = atomic_load_explicit(&page->look, memory_order_acquire);

    if (is_looked_at())
        return true;
    syscall(SYS_futex, &page->look, FUTEX_WAIT, look,
        timeout_ms > 0 ? &timeout : NULL, NULL, 0);
    return is_looked_at();
}

static void
sleep_ns(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t) (ns / 1000000000U),
        .tv_nsec = (long) (ns % 1000000000U)};

    nanosleep(&time, NULL);
}

void
watch_publish_run(void)
{
    unsigned seed = (unsigned) watch_now();

    /* Failures were counted all the time. */
    pthread_mutex_lock(&lock);
    watch_scale_reset();
    period_began = watch_now();
    window_calls = 0;
    window_ns = 0;
    pthread_mutex_unlock(&lock);
    window_open_now();
    do {
        bool complete;

        sleep_ns(PERIOD_NS);
        complete = period_end();
        write_page();
        if (complete)
            continue;
        /* Not in step with a program that works periodically. */
        sleep_ns((uint64_t) rand_r(&seed) % (PERIOD_NS / 2));
        window_open_now();
    } while (is_looked_at());
    watch_end();
}

void
watch_publish_lock(void)
{
    pthread_mutex_lock(&lock);
}

void
watch_publish_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void
watch_publish_forked(void)
{
    if (window_open)
        atomic_fetch_sub_explicit(
            watch_core.observers, 1, memory_order_relaxed);
    window_open = false;
    pthread_mutex_unlock(&lock);
}

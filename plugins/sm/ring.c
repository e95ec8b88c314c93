/* SPDX-License-Identifier: BSD-3-Clause */
/* Making, checking and mapping a ring's memory, and the rare steps of its two
 * ends. */
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __x86_64__
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#include <cpuid.h>
#endif

#include "common/memfd.h"
#include "ring.h"

#define CPUID_FEATURES 7U
#define CPUID_CLDEMOTE (1U << 25) /* in ECX */

/* glibc executes CPUID when a process starts, and keeps the result. In a virtual
 * machine the instruction takes some 20 us. */
bool
sm_ring_can_demote(void)
{
#if defined(__x86_64__) && defined(CPU_FEATURE_PRESENT)
    return CPU_FEATURE_PRESENT(CLDEMOTE) != 0;
#elif defined(__x86_64__)
    unsigned int a, b, c, d;

    return __get_cpuid_count(CPUID_FEATURES, 0, &a, &b, &c, &d) != 0 &&
           (c & CPUID_CLDEMOTE) != 0;
#else
    return false;
#endif
}

uint32_t
sm_ring_page(void)
{
    return (uint32_t) sysconf(_SC_PAGESIZE);
}

bool
sm_ring_fits(uint64_t capacity, uint64_t longest)
{
    return capacity % sm_ring_page() == 0 && capacity <= SM_RING_CAPACITY_MAX &&
           longest + SM_RING_HEADER + SM_RING_LINE <= capacity / 2;
}

/* Counts what has been produced, and goes on in the first mapping. */
static void
count_produced(struct sm_ring_tx *tx)
{
    tx->produced = sm_ring_produced(tx);
    if (tx->record >= tx->end)
        tx->record -= tx->capacity;
    tx->mark = tx->record;
}

/* Whether there is room for a record of size bytes, as far as is known. */
static bool
set_fence(struct sm_ring_tx *tx, uint32_t size)
{
    uint64_t room = tx->limit - tx->produced;

    if (!tx->held)
        tx->fence =
            room < (uint64_t) (tx->end - tx->mark) ? tx->mark + room : tx->end;
    return size <= room;
}

bool
sm_ring_refresh(struct sm_ring_tx *tx, uint32_t size)
{
    if (tx->capacity == 0 || tx->broken)
        return false;
    count_produced(tx);

    /* acquire: pairs with the release in sm_ring_report */
    uint64_t consumed =
        atomic_load_explicit(&tx->control->consumed, memory_order_acquire);
    uint64_t limit = consumed + tx->capacity;
    if (consumed > tx->produced || limit < tx->limit) {
        tx->broken = true;
        tx->limit = tx->produced;
        tx->fence = NULL;
        return false;
    }
    tx->limit = limit;
    return set_fence(tx, size);
}

unsigned char *
sm_ring_reserve(struct sm_ring_tx *tx, uint32_t length)
{
    uint32_t size = sm_ring_record(length);

    if (tx->capacity == 0)
        return NULL;
    count_produced(tx);
    if (!set_fence(tx, size) && !sm_ring_refresh(tx, size))
        return NULL;
    return tx->record + SM_RING_HEADER;
}

bool
sm_ring_put(struct sm_ring_tx *tx, uint64_t word, uint32_t tag,
    const void *payload, uint32_t length)
{
    unsigned char *to = sm_ring_reserve(tx, length);

    if (to == NULL)
        return false;
    memcpy(tx->record + SM_RING_TAG, &tag, sizeof(tag));
    sm_ring_copy(to, payload, length);
    sm_ring_announce(tx, tx->record, word, sm_ring_record(length));
    return true;
}

void
sm_ring_publish(struct sm_ring_tx *tx, uint64_t word)
{
    uint32_t size = sm_ring_record(sm_ring_length(word));

    memset(tx->record + SM_RING_TAG, 0, sizeof(uint32_t));
    sm_ring_announce(tx, tx->record, word, size);
}

/* When a consumer that has come this far reports next. A producer that waits
 * has room for its largest record, at most half a ring, when all but a quarter
 * has been consumed. */
static uint64_t
next_report(const struct sm_ring_rx *rx)
{
    return rx->consumed + rx->capacity / 4;
}

/* Counts what has been consumed, and goes on in the first mapping. Whether it is
 * time to tell the producer. */
static bool
count_consumed(struct sm_ring_rx *rx)
{
    rx->consumed += (uint64_t) (rx->record - rx->mark);
    if (rx->record >= rx->end)
        rx->record -= rx->capacity;
    rx->mark = rx->record;
    return rx->consumed >= rx->report_at;
}

static void
set_stop(struct sm_ring_rx *rx)
{
    uint64_t left = rx->report_at - rx->consumed;

    rx->stop =
        left < (uint64_t) (rx->end - rx->mark) ? rx->mark + left : rx->end;
}

bool
sm_ring_report(struct sm_ring_rx *rx)
{
    struct sm_ring_control *control = rx->control;
    bool due = count_consumed(rx);

    if (due)
        rx->report_at = next_report(rx);
    set_stop(rx);
    if (!due)
        return false;
    /* release: pairs with the acquire in sm_ring_refresh: the records have been
     * read, and cleared */
    atomic_store_explicit(
        &control->consumed, rx->consumed, memory_order_release);
    /* acq_rel: pairs with sm_ring_await_room. Whichever of the two comes second
     * sees what the first did before: this one that the producer waits, or the
     * producer what has been consumed. */
    return atomic_exchange_explicit(
               &control->waiting, 0, memory_order_acq_rel) != 0;
}

void
sm_ring_await_room(struct sm_ring_tx *tx)
{
    if (tx->control != NULL)
        /* acq_rel: pairs with sm_ring_report */
        atomic_exchange_explicit(
            &tx->control->waiting, 1, memory_order_acq_rel);
}

bool
sm_ring_take_sleeper(struct sm_ring_tx *tx, uint32_t target)
{
    _Atomic uint64_t *set = &tx->control->asleep[target >> 6 & 3];
    uint64_t bit = UINT64_C(1) << (target & 63);

    /* acq_rel: pairs with sm_ring_set_sleeper, see sm_ring_watched */
    return (atomic_fetch_and_explicit(set, ~bit, memory_order_acq_rel) & bit) !=
           0;
}

bool
sm_ring_take_any_sleeper(struct sm_ring_tx *tx)
{
    for (uint32_t i = 0; i < 4; i++) {
        _Atomic uint64_t *set = &tx->control->asleep[i];
        /* acq_rel: as in sm_ring_take_sleeper */
        uint64_t bits = atomic_fetch_or_explicit(set, 0, memory_order_acq_rel);

        for (uint64_t bit; (bit = bits & -bits) != 0; bits &= ~bit)
            if ((atomic_fetch_and_explicit(set, ~bit, memory_order_relaxed) &
                    bit) != 0)
                return true;
    }
    return false;
}

bool
sm_ring_any_sleeper(const struct sm_ring_tx *tx)
{
    uint64_t bits = 0;

    for (uint32_t i = 0; i < 4; i++)
        bits |=
            atomic_load_explicit(&tx->control->asleep[i], memory_order_relaxed);
    return bits != 0;
}

void
sm_ring_watch(struct sm_ring_rx *rx, bool watched)
{
    /* seq_cst: see sm_ring_watched */
    atomic_store_explicit(
        &rx->control->watched, watched ? 1 : 0, memory_order_seq_cst);
}

void
sm_ring_set_sleeper(struct sm_ring_rx *rx, uint32_t context)
{
    uint64_t bit = UINT64_C(1) << (context & 63);

    /* acq_rel: pairs with sm_ring_take_sleeper, see sm_ring_watched */
    atomic_fetch_or_explicit(
        &rx->control->asleep[context >> 6], bit, memory_order_acq_rel);
}

bool
sm_ring_has_sleeper(const struct sm_ring_rx *rx, uint32_t context)
{
    uint64_t bits = atomic_load_explicit(
        &rx->control->asleep[context >> 6], memory_order_relaxed);

    return (bits >> (context & 63) & 1) != 0;
}

bool
sm_ring_clear_sleeper(struct sm_ring_rx *rx, uint32_t context)
{
    uint64_t bit = UINT64_C(1) << (context & 63);

    /* acquire: pairs with sm_ring_take_sleeper, whose record is to be found */
    return (atomic_fetch_and_explicit(&rx->control->asleep[context >> 6], ~bit,
                memory_order_acquire) &
               bit) != 0;
}

/* Maps control page and records, and the records once more behind them. */
static unsigned char *
map_twice(uint32_t capacity, int fd)
{
    size_t page = sm_ring_page();
    size_t length = page + 2 * (size_t) capacity;
    unsigned char *base = mmap(NULL, length, PROT_NONE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return NULL;

    if (mmap(base, page + capacity, PROT_READ | PROT_WRITE,
            MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
        mmap(base + page + capacity, capacity, PROT_READ | PROT_WRITE,
            MAP_SHARED | MAP_FIXED, fd, (off_t) page) == MAP_FAILED) {
        int error = errno;
        munmap(base, length);
        errno = error;
        return NULL;
    }
    return base;
}

int
sm_ring_create(struct sm_ring_tx *tx, uint32_t capacity, int *fd_p)
{
    uint32_t page = sm_ring_page();
    int fd;
    int error = tp_memfd_create("talaria-sm", (uint64_t) page + capacity, &fd);
    if (error != 0)
        return error;

    error = tp_memfd_seal(fd, false);
    unsigned char *base = error == 0 ? map_twice(capacity, fd) : NULL;
    if (base == NULL) {
        error = error != 0 ? error : errno;
        close(fd);
        return error;
    }

    struct sm_ring_control *control = (void *) base;
    control->magic = SM_RING_MAGIC;
    control->capacity = capacity;
    *tx = (struct sm_ring_tx){
        .record = base + page,
        .fence = base + page + capacity,
        .control = control,
        .end = base + page + capacity,
        .mark = base + page,
        .capacity = capacity,
        .limit = capacity,
        .ordered = true,
    };
    *fd_p = fd;
    return 0;
}

const char *
sm_ring_open(struct sm_ring_rx *rx, uint32_t capacity, uint32_t longest, int fd)
{
    if (!sm_ring_fits(capacity, longest))
        return "its ring does not fit its messages";

    const char *wrong =
        tp_memfd_check(fd, (uint64_t) sm_ring_page() + capacity);
    if (wrong != NULL)
        return wrong;

    unsigned char *base = map_twice(capacity, fd);
    if (base == NULL)
        return "its memory cannot be mapped";

    struct sm_ring_control *control = (void *) base;
    *rx = (struct sm_ring_rx){
        .record = base + sm_ring_page(),
        .control = control,
        .end = base + sm_ring_page() + capacity,
        .mark = base + sm_ring_page(),
        .capacity = capacity,
        .longest = longest,
        .plain = longest < SM_RING_SHORT ? longest : SM_RING_SHORT,
    };
    rx->report_at = next_report(rx);
    set_stop(rx);
    if (control->magic != SM_RING_MAGIC || control->capacity != capacity) {
        sm_ring_close_rx(rx);
        return "its memory is not a ring";
    }
    return NULL;
}

void
sm_ring_close_tx(struct sm_ring_tx *tx)
{
    if (tx->control != NULL)
        munmap(tx->control, sm_ring_page() + 2 * (size_t) tx->capacity);
    *tx = (struct sm_ring_tx){0};
}

void
sm_ring_close_rx(struct sm_ring_rx *rx)
{
    if (rx->control != NULL)
        munmap(rx->control, sm_ring_page() + 2 * (size_t) rx->capacity);
    *rx = (struct sm_ring_rx){0};
}

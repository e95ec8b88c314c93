/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock of an endpoint's memory, which a process that is killed keeps. It is a
 * pthread_spinlock_t: the endpoint takes it to look for messages, each peer to
 * write one. A thread that waits for it when its holder is killed waits in
 * libfabric for ever (1.17: smr_region.lock).
 *
 * So the plugin never waits for it. It calls libfabric on an endpoint's memory
 * only while it holds the endpoint's guard, a word in a page behind that memory
 * that names its holder. The endpoint takes the guard back from a process that has
 * died, undoes what that process had begun, and releases the lock.
 *
 * The same memory shows whether anything has arrived: a poll that would find
 * nothing does not call libfabric (quiet). */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>

#include "../gate.h"
#include "../quirk.h"
#include "common/system.h"
#include "shm_file.h"
#include "shm_memory.h"

#define SPINS 200U            /* some microseconds */
#define WAIT_NS (TP_MS)       /* for a peer's guard */
#define LOOK_NS (20 * TP_MS)  /* after which its holder is looked at */
#define DEAD_NS (100 * TP_MS) /* the lock's holder had the guard, and died */
#define UNKNOWN_NS (2 * TP_SECOND) /* it is not known */
#define LOOKS 10U                  /* at least in that time */
#define RESTS 32U                  /* polls at most without asking libfabric */

/* What was seen of the own guard and lock while another held them. */
struct evidence {
    uint64_t holder;   /* that kept the guard */
    uint64_t guard_ns; /* when that was first seen, or it was found alive */
    uint64_t dead;     /* holder that died with the guard; may have the lock */
    uint64_t lock_ns;  /* when the lock was first seen held; 0: it was not */
    uint32_t looks;    /* at the lock since then */
};

/* An endpoint for puts and gets: peers write only answers to it. */
struct other {
    struct other *next;
    const struct fid_ep *fep;
    struct mapping mapping;
};

struct shm_lock {
    struct ofi_gate gate;
    uint64_t self; /* as a holder */
    struct mapping own;
    struct evidence evidence;
    struct guard *entered;
    bool kept_out;
    struct other *others;
    uint32_t blind; /* of them, those whose memory is not known */
    uint32_t rests; /* polls without a call of libfabric */
};

extern const struct ofi_quirk ofi_quirk_shm_lock;

static struct shm_lock *
data_of(const struct ofi_endpoint *ep)
{
    return ofi_quirk_data(ep, &ofi_quirk_shm_lock);
}

/* HOLDERS */

/* The state of a process as in /proc: 'Z' also of one that is not there any more. */
static char
state_of(uint32_t process)
{
    char path[32], text[256];
    ssize_t length = -1;

    if (kill((pid_t) process, 0) != 0 && errno == ESRCH)
        return 'Z';
    snprintf(path, sizeof(path), "/proc/%u/stat", process);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        length = read(fd, text, sizeof(text) - 1);
        close(fd);
    }
    if (length <= 0)
        return '?';
    text[length] = '\0';
    const char *end = strrchr(text, ')');
    if (end == NULL || end[1] != ' ')
        return '?';
    return end[2];
}

static bool
has_ended(uint32_t process)
{
    char state = state_of(process);

    return state == 'Z' || state == 'X';
}

/* No thread of it runs any more: its socket is closed as well. */
static bool
is_dead(uint64_t holder)
{
    uint32_t process = (uint32_t) (holder >> 32);

    return process != (uint32_t) getpid() && !shm_answers(holder) &&
           has_ended(process);
}

/* Whether only a dead process can hold a lock for long: some that had memory here
 * have died, and none is stopped. */
static bool
only_dead_hold(void)
{
    const struct dirent *entry = NULL;
    struct shm_parts parts;
    bool dead = false, stopped = false;
    DIR *folder = opendir(SHM_FOLDER);

    if (folder == NULL)
        return false;
    while ((entry = readdir(folder)) != NULL) {
        if (!shm_read_parts(entry->d_name, &parts) || parts.user != getuid())
            continue;
        char state = state_of(parts.process);
        dead = dead || state == 'Z' || state == 'X';
        stopped = stopped || state == 'T' || state == 't' || state == '?';
    }
    closedir(folder);
    return dead && !stopped;
}

/* GUARD */

static void
relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* acquire: pairs with the release in drop */
static bool
take_once(struct guard *guard, uint64_t self)
{
    uint64_t nobody = 0;

    return atomic_load_explicit(&guard->holder, memory_order_relaxed) == 0 &&
           atomic_compare_exchange_strong_explicit(&guard->holder, &nobody,
               self, memory_order_acquire, memory_order_relaxed);
}

static bool
take(struct guard *guard, uint64_t self)
{
    for (uint32_t i = 0; i < SPINS; i++) {
        if (take_once(guard, self))
            return true;
        relax();
    }
    return false;
}

/* Whether the lock is held, and not just for a moment. */
static bool
stays_held(const struct mapping *mapping)
{
    for (uint32_t i = 0; is_held(mapping); i++) {
        if (i == SPINS)
            return true;
        relax();
    }
    return false;
}

/* release: pairs with the acquire in take_once */
static void
drop(struct guard *guard)
{
    atomic_store_explicit(&guard->holder, 0, memory_order_release);
}

/* The holder does not run just now: lets it, once. */
static bool
take_patiently(struct mapping *mapping, uint64_t self)
{
    struct guard *guard = mapping->guard;
    uint64_t holder =
        atomic_load_explicit(&guard->holder, memory_order_relaxed);

    if (holder != 0 && holder == mapping->waited_for)
        return false;
    for (uint64_t end = tp_now() + WAIT_NS; tp_now() < end; sched_yield())
        if (take_once(guard, self))
            return true;
    mapping->waited_for =
        atomic_load_explicit(&guard->holder, memory_order_relaxed);
    return false;
}

/* Another one has the own guard: takes it from one that is dead. */
static bool
take_over(struct ofi_endpoint *ep, struct shm_lock *data)
{
    struct evidence *evidence = &data->evidence;
    struct guard *guard = data->own.guard;
    uint64_t now = tp_now();
    uint64_t holder =
        atomic_load_explicit(&guard->holder, memory_order_relaxed);

    if (holder != evidence->holder) {
        evidence->holder = holder;
        evidence->guard_ns = now;
        return false;
    }
    if (holder == 0 || now - evidence->guard_ns < LOOK_NS)
        return false;
    evidence->guard_ns = now;
    if (!is_dead(holder) ||
        !atomic_compare_exchange_strong_explicit(&guard->holder, &holder,
            data->self, memory_order_acquire, memory_order_relaxed))
        return false;
    TP_LOG(ep->cls->host, DEBUG,
        "process %" PRIu64 " ended while it wrote to this endpoint",
        holder >> 32);
    evidence->dead = holder;
    return true;
}

/* BREAKING A LOCK */

/* What a dead process had begun to put into the queue is taken out again, and the
 * buffer that it may have taken stays lost: one place less for it. [guard] */
static void
undo(const struct mapping *mapping, bool known)
{
    const struct layout *layout = mapping->layout;

    if (layout->room == 0)
        return;
    _Atomic uint64_t *room = count_at(mapping, layout->room);
    uint64_t before = known ? mapping->guard->room_before : atomic_load(room);
    if (known)
        atomic_store(
            count_at(mapping, layout->tail), mapping->guard->tail_before);
    atomic_store(room, before != 0 ? before - 1 : 0);
}

/* That a peer was killed is no fault, nor is this, if it is certain. */
static void
log_broken(struct ofi_endpoint *ep, uint64_t dead)
{
    if (dead != 0)
        TP_LOG(ep->cls->host, INFO,
            "process %" PRIu64
            " was killed while it wrote to this endpoint's shared memory: "
            "what it had begun was undone",
            dead >> 32);
    else
        TP_LOG(ep->cls->host, WARNING,
            "this endpoint's shared memory was locked for %" PRIu64
            " s: by a process that was killed, as none is stopped; the lock "
            "was broken",
            (uint64_t) (UNKNOWN_NS / TP_SECOND));
}

/* The own lock is held, though this endpoint has the guard: by one that died with
 * the guard; or by one that takes the lock for a moment without it, as libfabric
 * does when it is answered. [guard] */
static bool
break_lock(struct ofi_endpoint *ep, struct shm_lock *data)
{
    struct evidence *evidence = &data->evidence;
    uint64_t now = tp_now();
    int32_t value =
        atomic_load_explicit(lock_of(&data->own), memory_order_relaxed);

    if (evidence->lock_ns == 0) {
        evidence->lock_ns = now;
        evidence->looks = 0;
    }
    if (++evidence->looks < LOOKS ||
        now - evidence->lock_ns < (evidence->dead != 0 ? DEAD_NS : UNKNOWN_NS))
        return false;
    if (evidence->dead == 0 && !only_dead_hold()) {
        evidence->lock_ns = 0;
        return false;
    }
    undo(&data->own, evidence->dead != 0);
    /* release: pairs with who takes it next */
    while (value != data->own.free &&
           !atomic_compare_exchange_strong_explicit(lock_of(&data->own), &value,
               data->own.free, memory_order_release, memory_order_relaxed))
        ;
    log_broken(ep, evidence->dead);
    return true;
}

/* THE GATE */

static bool
enter_own(struct ofi_endpoint *ep, struct shm_lock *data)
{
    struct guard *guard = data->own.guard;

    if (!take(guard, data->self) && !take_over(ep, data))
        return false;
    if (__builtin_expect(stays_held(&data->own), 0) && !break_lock(ep, data)) {
        drop(guard);
        return false;
    }
    data->evidence.dead = 0;
    data->evidence.lock_ns = 0;
    data->entered = guard;
    return true;
}

static bool
enter_peer(struct shm_lock *data, struct ofi_peer *peer)
{
    struct mapping *mapping = mapping_of(peer);

    if (mapping == NULL)
        return false;
    if (__builtin_expect(mapping->layout == NULL, 0))
        return true;
    if (!take(mapping->guard, data->self) &&
        !take_patiently(mapping, data->self))
        return false;
    if (__builtin_expect(stays_held(mapping), 0)) {
        drop(mapping->guard);
        return false;
    }
    if (mapping->layout->room != 0) {
        mapping->guard->room_before = atomic_load_explicit(
            count_at(mapping, mapping->layout->room), memory_order_relaxed);
        mapping->guard->tail_before = atomic_load_explicit(
            count_at(mapping, mapping->layout->tail), memory_order_relaxed);
    }
    mapping->waited_for = 0;
    data->entered = mapping->guard;
    return true;
}

static bool
enter(struct ofi_gate *gate, struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    struct shm_lock *data = TP_OBJECT(gate, struct shm_lock, gate);

    if (peer != NULL)
        return enter_peer(data, peer);
    data->kept_out = !enter_own(ep, data);
    return !data->kept_out;
}

static void
leave(struct ofi_gate *gate)
{
    struct shm_lock *data = TP_OBJECT(gate, struct shm_lock, gate);

    if (data->entered != NULL)
        drop(data->entered);
    data->entered = NULL;
}

/* Nobody has put anything into the memory of this class's endpoints. A look at
 * these words leaves them in the caches of all. */
static bool
quiet(struct ofi_gate *gate)
{
    struct shm_lock *data = TP_OBJECT(gate, struct shm_lock, gate);

    if (data->own.layout->signal == 0 || data->blind != 0 ||
        is_signalled(&data->own) || is_held(&data->own) ||
        ++data->rests >= RESTS) {
        data->rests = 0;
        return false;
    }
    for (const struct other *one = data->others; one != NULL; one = one->next)
        if (is_signalled(&one->mapping))
            return false;
    return true;
}

/* OPENING AND CLOSING */

static void
open_own(struct ofi_endpoint *ep, struct shm_lock *data, const char *file,
    const struct shm_parts *parts)
{
    if (file != NULL)
        map_memory(&data->own, file, parts->process, true);
    if (data->own.layout == NULL) {
        TP_LOG(ep->cls->host, DEBUG,
            "the lock of shared memory is not known here: a process that is "
            "killed may block this one");
        return;
    }
    data->self = (uint64_t) parts->process << 32 | parts->number;
    atomic_thread_fence(memory_order_seq_cst);
    data->own.guard->magic = GUARD_MAGIC;
    data->gate = (struct ofi_gate){
        .enter = enter, .leave = leave, .quiet = quiet, .pending = true};
    ep->gate = &data->gate;
}

static void
endpoint_opened(struct ofi_endpoint *ep, struct fid_ep *fep)
{
    struct shm_lock *data = data_of(ep);
    char name[OFI_NAME_MAX + 1];
    struct shm_parts parts = {0};
    const char *file = shm_file_of(fep, name, &parts);

    if (fep == ep->fep) {
        open_own(ep, data, file, &parts);
        return;
    }
    struct other *other = file != NULL ? calloc(1, sizeof(*other)) : NULL;
    if (other != NULL) {
        map_memory(&other->mapping, file, parts.process, true);
        if (other->mapping.layout != NULL) {
            other->fep = fep;
            other->next = data->others;
            data->others = other;
            return;
        }
    }
    free(other);
    data->blind++; /* for good: the class asks libfabric each time */
}

static void
endpoint_closing(struct ofi_endpoint *ep, struct fid_ep *fep)
{
    struct shm_lock *data = data_of(ep);
    struct other **link = &data->others;

    if (fep == ep->fep) {
        ep->gate = NULL;
        unmap_memory(&data->own);
        return;
    }
    while (*link != NULL && (*link)->fep != fep)
        link = &(*link)->next;
    struct other *other = *link;
    if (other == NULL)
        return;
    *link = other->next;
    unmap_memory(&other->mapping);
    free(other);
}

/* libfabric is about to map its memory anew. */
static bool
reach(struct ofi_endpoint *ep, const struct ofi_peer *peer)
{
    struct mapping *mapping = peer->gate;

    if (mapping != NULL)
        mapping->again = true;
    return true;
}

static void
peer_freed(struct ofi_endpoint *ep, const struct ofi_peer *peer)
{
    struct mapping *mapping = peer->gate;

    if (mapping != NULL)
        unmap_memory(mapping);
    free(mapping);
}

/* It has to look again soon, as nothing wakes it when the guard is free. */
static uint64_t
sleep_limit(struct ofi_endpoint *ep)
{
    return data_of(ep)->kept_out ? TP_MS : UINT64_MAX;
}

const struct ofi_quirk ofi_quirk_shm_lock = {.provider = "shm",
    .data_size = sizeof(struct shm_lock),
    .endpoint_opened = endpoint_opened,
    .endpoint_closing = endpoint_closing,
    .reach = reach,
    .peer_freed = peer_freed,
    .sleep = sleep_limit};

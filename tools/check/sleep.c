/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeps by na.wait/1 as a core does: announces the sleeper, arms, sleeps on
 * the plugin's descriptors and on one that wake writes to while a sleeper is
 * announced, and polls. The next arm must find a wake without an announced
 * sleeper. */
#include "check/class.h"

#include "check/host.h"
#include "check/shared.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define UNTOUCHED 0xC3C3C3C3C3C3C3C3U
#define NS_PER_S 1000000000U

/* After a sleep timed out, pending events must show within this time. */
#define LOOK_NS 50000000U

void
kit_sleep_init(struct kit_class *cls)
{
    for (uint32_t i = 0; i < KIT_CONTEXTS; i++)
        cls->wake_fds[i] = cls->wait_fds[i] = -1;
}

void
kit_sleep_finish(struct kit_class *cls)
{
    for (uint32_t i = 0; i < KIT_CONTEXTS; i++)
        if (cls->wake_fds[i] >= 0)
            close(cls->wake_fds[i]);
}

void
kit_sleep_interrupt(struct kit_class *cls, uint32_t ctx)
{
    /* A read-modify-write, ordered before or after that of announce: either arm
     * sees (acquire) what was published before this call (release), or this
     * call sees the sleeper. */
    if (atomic_fetch_or_explicit(
            &cls->sleeping[ctx], 0, memory_order_acq_rel) != 0)
        eventfd_write(cls->wake_fds[ctx], 1);
}

static void
announce(struct kit_class *cls, uint32_t ctx)
{
    if (cls->wake_fds[ctx] < 0)
        cls->wake_fds[ctx] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (cls->wake_fds[ctx] < 0)
        kit_not_run("no eventfd: %s", strerror(errno));
    /* Pairs with kit_sleep_interrupt. */
    atomic_fetch_or_explicit(&cls->sleeping[ctx], 1, memory_order_acq_rel);
}

static void
awake(struct kit_class *cls, uint32_t ctx)
{
    eventfd_t value;

    atomic_store_explicit(&cls->sleeping[ctx], 0, memory_order_relaxed);
    eventfd_read(cls->wake_fds[ctx], &value);
}

bool
kit_class_arm(struct kit_class *cls, uint32_t ctx, uint64_t *ns_p)
{
    uint64_t ns = UNTOUCHED;
    const char *before = kit_call_enter("arm");
    int32_t result;

    kit_host_path_enter(&cls->wakes[ctx]);
    result = cls->wait->arm(cls->contexts[ctx], &ns);
    kit_host_path_leave();
    kit_call_leave(before);
    kit_expect(result == NA_PLUGIN_OK || result == NA_PLUGIN_DONE, 12,
        "arm returns OK or DONE", "%s", kit_code_text(result));
    kit_expect(result != NA_PLUGIN_OK || ns != UNTOUCHED, 12,
        "arm sets the time to sleep when it returns OK", "it does not");
    if (result == NA_PLUGIN_OK)
        *ns_p = ns;
    return result == NA_PLUGIN_OK;
}

int
kit_class_wait_fd(struct kit_class *cls, uint32_t ctx)
{
    const char *before = kit_call_enter("na.wait/1 fd");
    int32_t fd = cls->wait->fd(cls->contexts[ctx]);

    kit_call_leave(before);
    kit_expect(fd >= 0, 12, "a context has a descriptor to wait on", "%d", fd);
    kit_expect(cls->wait_fds[ctx] == -1 || cls->wait_fds[ctx] == fd, 12,
        "the descriptor to wait on is constant for the context", "%d, then %d",
        cls->wait_fds[ctx], fd);
    cls->wait_fds[ctx] = fd;
    return fd;
}

/* Whether there may be events before the time is over. */
static bool
sleep_on(const struct pollfd *wanted, uint32_t count, uint64_t ns)
{
    struct pollfd fds[2 * KIT_CONTEXTS];
    struct timespec timeout = {
        .tv_sec = (time_t) (ns / NS_PER_S), .tv_nsec = (long) (ns % NS_PER_S)};
    int ready;

    memcpy(fds, wanted, count * sizeof *fds);
    ready = ppoll(fds, count, &timeout, NULL);
    for (uint32_t i = 0; i < count; i++)
        kit_expect(!(fds[i].revents & POLLNVAL), 12,
            "the descriptor to wait on is open", "%d is not", fds[i].fd);
    return ready != 0;
}

bool
kit_class_sleep(
    struct kit_class *cls, uint32_t first, uint32_t count, uint64_t ns)
{
    struct pollfd fds[2 * KIT_CONTEXTS];
    uint64_t least = UINT64_MAX, sleep_ns;
    bool armed = true, found = true;

    for (uint32_t i = first; i < first + count; i++)
        announce(cls, i);
    for (uint32_t i = first; armed && i < first + count; i++) {
        armed = kit_class_arm(cls, i, &sleep_ns);
        if (armed && sleep_ns < least)
            least = sleep_ns;
    }
    for (uint32_t i = 0; armed && i < count; i++) {
        struct pollfd *pair = fds + 2 * (size_t) i;

        pair[0].fd = kit_class_wait_fd(cls, first + i);
        pair[1].fd = cls->wake_fds[first + i];
        pair[0].events = pair[1].events = POLLIN;
    }
    if (armed)
        found = sleep_on(fds, 2 * count, least < ns ? least : ns) || least < ns;
    for (uint32_t i = first; i < first + count; i++)
        awake(cls, i);
    return found;
}

static void
poll_all(struct kit_class *cls, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        kit_class_poll(cls, i);
}

/* The longest sleep, after which a wake-up counts as lost. */
static uint64_t
longest_sleep(void)
{
    uint64_t half = kit_patience() / 2;

    return half < 2ULL * NS_PER_S ? half : 2ULL * NS_PER_S;
}

void
kit_class_sleep_while(struct kit_class *cls, uint32_t first, uint32_t count,
    kit_pending_t pending, const void *arg, const char *what)
{
    uint64_t end = kit_now() + kit_patience();

    while (pending(arg)) {
        bool found = kit_class_sleep(cls, first, count, longest_sleep());
        uint64_t look = kit_now() + LOOK_NS;

        poll_all(cls, first, count);
        while (!found && pending(arg) && kit_now() < look)
            poll_all(cls, first, count);
        kit_expect(found || pending(arg), 12,
            "a sleeping thread is woken when there is something to poll",
            "after %llu ms of sleep polling ended a %s at once",
            (unsigned long long) (longest_sleep() / 1000000U), what);
        kit_expect(!pending(arg) || kit_now() < end, 12,
            "a thread that polls when woken finds the end of an operation",
            "a %s is pending after %llu ms", what,
            (unsigned long long) (kit_patience() / 1000000U));
    }
}

static bool
op_pending(const void *arg)
{
    const struct kit_op *op = arg;

    /* Pairs with the release of the thread that ended it. */
    return atomic_load_explicit(&op->state, memory_order_acquire) ==
           KIT_PENDING;
}

void
kit_class_sleep_for(
    struct kit_class *cls, uint32_t first, uint32_t count, uint32_t op)
{
    const struct kit_op *pending = &cls->ops_made[op];

    kit_class_sleep_while(cls, first, count, op_pending, pending,
        kit_kind_name(pending->request.kind));
}

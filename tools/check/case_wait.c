/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: na.wait/1: the descriptor, sleeping while idle, and wake-ups by
 * arriving messages. Races of waking and arming: case_wake.c. */
#include "check/cases.h"
#include "check/class.h"
#include "check/peers.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000U

struct pair {
    struct kit_side *a; /* here, and it sleeps */
    struct kit_side *b;
    struct kit_class *cls; /* a's */
    uint64_t length;       /* of a small message, and of all others */
};

/* Two that have sent to each other. */
static struct pair
open_pair(void)
{
    struct pair pair = {.a = kit_local(NULL), .b = kit_remote(0, NULL)};

    pair.cls = kit_class_of(pair.a);
    pair.length = kit_small(pair.a);
    kit_lookup_each_other(pair.a, pair.b);
    return pair;
}

/* Creates a second context, if allowed. Returns the number of contexts. */
static uint32_t
second_context(struct kit_side *side)
{
    if (kit_opened(side)->max_contexts < 2)
        return 1;
    kit_ctx_create(side, 1);
    return 2;
}

static bool
readable(int fd, int timeout_ms)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};

    return poll(&wanted, 1, timeout_ms) > 0;
}

static void
descriptor(void)
{
    struct pair pair = open_pair();
    uint32_t count = second_context(pair.a);

    for (uint32_t round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < count; i++) {
            int fd = kit_class_wait_fd(pair.cls, i);
            int flags = fcntl(fd, F_GETFD);

            kit_expect(flags >= 0, 12, "the descriptor to wait on is open",
                "context %u: %d is not", i, fd);
            kit_expect(flags & FD_CLOEXEC, 12,
                "descriptors are opened close-on-exec", "context %u: %d is not",
                i, fd);
        }
        kit_class_sleep(pair.cls, 0, count, NS_PER_MS);
        kit_round_trip(pair.b, pair.a, 12);
    }
}

static uint64_t
processor_time(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t) used.tv_sec * 1000000000U + (uint64_t) used.tv_nsec;
}

/* Sleeps and polls alternately for a time. Returns how often. */
static uint32_t
sleep_briefly(struct kit_class *cls, uint32_t count, uint64_t ns)
{
    uint64_t end = kit_now() + ns;
    uint32_t turns = 0;

    for (uint64_t now = kit_now(); now < end; now = kit_now(), turns++) {
        kit_class_sleep(cls, 0, count, end - now);
        for (uint32_t i = 0; i < count; i++)
            kit_class_poll(cls, i);
    }
    return turns;
}

/* The thousandths of the time spent working, at most. */
static void
expect_idle(struct kit_class *cls, uint32_t count, uint32_t parts)
{
    uint64_t ns = 5 * kit_quiet(), began, used;
    uint32_t turns;

    kit_step("becomes idle");
    sleep_briefly(cls, count, kit_quiet() / 2);
    kit_step("is idle");
    began = kit_now();
    used = processor_time();
    turns = sleep_briefly(cls, count, ns);
    used = processor_time() - used;
    began = kit_now() - began;
    /* A process that gets little processor time also wakes too often. */
    kit_expect(
        used * 1000 <= began * parts && turns <= began / NS_PER_MS * parts / 10,
        12,
        "with nothing to poll arm returns OK, and the descriptor is "
        "not readable",
        "%.1f ms of processor time in %.1f ms, %u polls", (double) used / 1e6,
        (double) began / 1e6, turns);
}

static void
idle_alone(void)
{
    expect_idle(kit_class_of(kit_local(NULL)), 1, 20);
}

/* Receives are posted, a peer is connected and polls. */
static void
idle_connected(void)
{
    struct pair pair = open_pair();
    uint32_t count = second_context(pair.a);

    kit_recv_unexpected(pair.a, 0, pair.length);
    kit_recv_expected(pair.a, 2, pair.b, pair.length, 1);
    expect_idle(pair.cls, count, 20);
    kit_step("works again");
    kit_send_unexpected(pair.b, 0, pair.a, pair.length, 3, 3);
    kit_await_message(pair.a, 0, 11, pair.length, 3, 3, kit_number(pair.b));
}

/* An operation has ended in this process while the context was armed: the poll
 * clears the wake-up. */
static void
idle_after_wake(void)
{
    struct pair pair = open_pair();
    struct kit_completion end;

    for (uint32_t round = 0; round < 4; round++) {
        uint64_t ns;

        kit_recv_unexpected(pair.a, 2 * round, pair.length);
        if (!kit_class_arm(pair.cls, 0, &ns))
            kit_class_poll(pair.cls, 0);
        kit_cancel(pair.a, 2 * round);
        kit_class_sleep_for(pair.cls, 0, 1, 2 * round);
        kit_get_completion(pair.a, 2 * round, &end);
        kit_expect(end.status == NA_PLUGIN_E_CANCELED, 10,
            "what is cancelled ends with CANCELED", "%s",
            kit_completion_text(&end));
    }
    expect_idle(pair.cls, 1, 20);
}

/* Sends until some are held back. Returns how many were sent, from operation 0
 * on. */
static uint32_t
fill(const struct pair *pair)
{
    uint32_t count;

    kit_polls(pair->b, false);
    if (kit_fill(pair->a, pair->b, 0, &count) == KIT_NOBODY)
        kit_not_offered("sends do not wait here: %u were taken", count);
    return count;
}

/* These complete only when the peer does something. */
static void
idle_stuck(void)
{
    struct pair pair = open_pair();

    fill(&pair);
    expect_idle(pair.cls, 1, 200);
}

/* Receives so many messages, after a while. */
struct drain {
    uint32_t count;
    uint32_t delay_ns;
    uint64_t length;
};

static void
drain(struct kit_class *cls, void *bytes)
{
    const struct drain *plan = bytes;
    struct timespec delay = {.tv_nsec = plan->delay_ns};
    struct kit_request request = {
        .kind = KIT_RECV_UNEXPECTED, .length = plan->length};

    nanosleep(&delay, NULL);
    for (uint32_t i = 0; i < plan->count; i++) {
        kit_class_post(cls, &request);
        kit_class_sleep_for(cls, 0, 1, 0);
    }
}

static void
backpressure(void)
{
    struct pair pair = open_pair();

    for (uint32_t round = 0; round < kit_times(20); round++) {
        struct drain plan = {.length = kit_opened(pair.b)->max_unexpected_size,
            .delay_ns = round % 4 * 700000};

        kit_step("fills the peer's queue");
        plan.count = fill(&pair);
        kit_begin(pair.b, drain, &plan, sizeof plan);
        kit_step("sleeps until the peer makes room");
        for (uint32_t op = 0; op < plan.count; op++)
            kit_class_sleep_for(pair.cls, 0, 1, op);
        kit_join(pair.b, &plan, sizeof plan);
        for (uint32_t op = 0; op < plan.count; op++)
            kit_await_ok(pair.a, op, 11);
        kit_polls(pair.b, true);
    }
}

/* The peer has sent before the context is armed, and it was not polled
 * since. */
static void
arrived_before(void)
{
    struct pair pair = open_pair();

    for (uint32_t i = 0; i < kit_times(200); i++) {
        uint64_t until;
        struct kit_completion end;

        kit_recv_unexpected(pair.a, i % 4, pair.length);
        kit_send_unexpected(pair.b, i % 4, pair.a, pair.length, i, i);
        until = kit_now() + UINT64_C(2) * NS_PER_MS;
        do
            kit_get_completion(pair.b, i % 4, &end);
        while (!end.ended && kit_now() < until);
        if (i % 2 == 1)
            usleep(200);
        kit_class_sleep_for(pair.cls, 0, 1, i % 4);
        kit_await_message(
            pair.a, i % 4, 11, pair.length, i, i, kit_number(pair.b));
        kit_await_ok(pair.b, i % 4, 7);
    }
}

/* Arms, and polls while arm asks for it. */
static void
arm_at_last(struct kit_class *cls)
{
    uint64_t end = kit_now() + kit_patience(), ns;

    while (!kit_class_arm(cls, 0, &ns)) {
        kit_class_poll(cls, 0);
        kit_expect(kit_now() < end, 12,
            "arm returns OK when there is nothing to poll",
            "it returns DONE for %llu ms",
            (unsigned long long) (kit_patience() / NS_PER_MS));
    }
}

/* Waits until the armed context's descriptor is readable. false: the plugin
 * called wake instead. */
static bool
becomes_readable(struct kit_class *cls, uint32_t wakes)
{
    uint64_t end = kit_now() + kit_patience();

    while (!readable(kit_class_wait_fd(cls, 0), 1)) {
        if (atomic_load_explicit(&cls->wakes[0], memory_order_acquire) != wakes)
            return false;
        kit_expect(kit_now() < end, 12,
            "the descriptor of an armed context becomes readable when there is "
            "something to poll",
            "a message was sent %llu ms ago",
            (unsigned long long) (kit_patience() / NS_PER_MS));
    }
    return true;
}

static void
level_triggered(void)
{
    struct pair pair = open_pair();
    struct kit_class *cls = pair.cls;

    for (uint32_t i = 0; i < kit_times(30); i++) {
        uint32_t wakes;
        uint64_t end;

        kit_recv_unexpected(pair.a, 0, pair.length);
        wakes = atomic_load_explicit(&cls->wakes[0], memory_order_acquire);
        arm_at_last(cls);
        kit_send_unexpected(pair.b, 0, pair.a, pair.length, i, i);
        if (becomes_readable(cls, wakes))
            for (uint32_t j = 0; j < 10; j++) {
                kit_expect(readable(kit_class_wait_fd(cls, 0), 0), 12,
                    "the descriptor stays readable until the context is polled",
                    "it does not");
                usleep(200);
            }
        kit_await_message(pair.a, 0, 11, pair.length, i, i, kit_number(pair.b));
        kit_await_ok(pair.b, 0, 7);
        end = kit_now() + kit_patience();
        for (arm_at_last(cls); readable(kit_class_wait_fd(cls, 0), 0);
             arm_at_last(cls)) {
            kit_class_poll(cls, 0);
            kit_expect(kit_now() < end, 12,
                "the descriptor of an armed context is not readable when "
                "nothing arrived",
                "it is, poll after poll");
        }
    }
}

/* Whether a receive of an expected message can be canceled. */
static bool
can_cancel(const struct pair *pair)
{
    uint64_t end_of_wait = kit_now() + 20 * kit_quiet();
    struct kit_completion end;

    kit_recv_expected(pair->a, 8, pair->b, pair->length, 8);
    kit_run();
    kit_cancel(pair->a, 8);
    do {
        kit_run();
        kit_get_completion(pair->a, 8, &end);
    } while (!end.ended && kit_now() < end_of_wait);
    return end.ended;
}

static void
cancelled(void)
{
    struct pair pair = open_pair();

    if (!can_cancel(&pair))
        kit_not_offered("receives cannot be cancelled here");
    for (uint32_t i = 0; i < kit_times(200); i++) {
        uint32_t op = i % 4;

        if (i % 2 == 0)
            kit_recv_expected(pair.a, op, pair.b, pair.length, 1);
        else
            kit_recv_unexpected(pair.a, op, pair.length);
        if (i % 3 > 0)
            arm_at_last(pair.cls);
        kit_cancel(pair.a, op);
        kit_class_sleep_for(pair.cls, 0, 1, op);
    }
}

struct dying {
    uint32_t delay_ns;
};

static void
die(struct kit_class *cls, void *bytes)
{
    const struct dying *plan = bytes;
    struct timespec delay = {.tv_nsec = plan->delay_ns};

    (void) cls;
    nanosleep(&delay, NULL);
    kill(getpid(), SIGKILL);
}

/* A sleeping process notices a peer's death by its pending receive. */
static void
peer_dies(void)
{
    static const uint32_t delays[] = {0, 300000, 5000000, 100000000};
    struct pair pair = {.a = kit_local(NULL)};

    pair.cls = kit_class_of(pair.a);
    pair.length = kit_small(pair.a);
    for (uint32_t i = 0; i < 4; i++) {
        struct dying plan = {delays[i]};
        struct kit_completion end;

        pair.b = kit_remote(i, NULL);
        kit_lookup_each_other(pair.a, pair.b);
        kit_recv_expected(pair.a, 2 * i, pair.b, pair.length, 1);
        kit_begin(pair.b, die, &plan, sizeof plan);
        kit_class_sleep_for(pair.cls, 0, 1, 2 * i);
        kit_get_completion(pair.a, 2 * i, &end);
        kit_expect(end.status == NA_PLUGIN_E_HOSTUNREACH ||
                       end.status == NA_PLUGIN_E_IO_ERROR,
            12, "a receive ends with HOSTUNREACH or IO_ERROR if its peer dies",
            "%s", kit_completion_text(&end));
        kit_addr_free(pair.a, kit_number(pair.b));
        kit_signal(pair.b, SIGKILL);
    }
}

static const struct kit_case cases[] = {
    {"wait_descriptor", 12, KIT_NEEDS_WAIT, 1, 0,
        "the descriptor is open, constant, close-on-exec", descriptor},
    {"wait_idle_alone", 12, KIT_NEEDS_WAIT, 0, 0,
        "a class without peers sleeps", idle_alone},
    {"wait_idle_connected", 12, KIT_NEEDS_WAIT, 1, 0,
        "a class with a peer and receives sleeps until a message arrives",
        idle_connected},
    {"wait_idle_after_wake", 12, KIT_NEEDS_WAIT, 1, 0,
        "it sleeps again after a wake-up and a poll", idle_after_wake},
    {"wait_idle_stuck", 12, KIT_NEEDS_WAIT, 1, 0,
        "a class whose sends are held back by an idle peer sleeps", idle_stuck},
    {"wait_arrived_before", 12, KIT_NEEDS_WAIT, 1, 0,
        "arm reports what arrived before it", arrived_before},
    {"wait_level_triggered", 12, KIT_NEEDS_WAIT, 1, 0,
        "the descriptor stays readable until the poll, and no longer",
        level_triggered},
    {"wait_backpressure", 12, KIT_NEEDS_WAIT, 1, 0,
        "held-back sends continue when the peer has room", backpressure},
    {"wait_cancelled", 12, KIT_NEEDS_WAIT, 1, 0,
        "canceled operations end although the caller sleeps next", cancelled},
    {"wait_peer_dies", 12, KIT_NEEDS_WAIT, 4, 0,
        "a sleeping class notices the death of its peer", peer_dies},
};

const struct kit_group kit_cases_wait = {cases, sizeof cases / sizeof cases[0]};

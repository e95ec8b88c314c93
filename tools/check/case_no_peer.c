/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: addresses without a peer; peers that die while connecting; many peers
 * that connect and disconnect and must leave nothing. */
#include "check/cases.h"
#include "check/class.h"
#include "check/launch.h"
#include "check/peers.h"
#include "check/shared.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A send of each kind, and a receive, with a peer that does not exist: each
 * ends with an error. */
static void
use_no_peer(struct kit_side *a, uint32_t number)
{
    static const enum kit_kind kinds[] = {
        KIT_SEND_UNEXPECTED, KIT_SEND_EXPECTED};

    for (uint32_t i = 0; i < 4; i++) {
        struct kit_request request = {.kind = kinds[i % 2],
            .op = i,
            .peer = number,
            .length = kit_small(a),
            .own_buffer = i % 2 == 1,
            .may_fail = true};

        kit_post(a, &request);
    }
    for (uint32_t i = 0; i < 4; i++)
        kit_await_dead(a, i, false);
}

/* Looked up while the peer exists, used after it has ended. */
static void
send_no_peer(void)
{
    struct kit_side *a = kit_local(NULL), *c = kit_remote(2, NULL);
    struct kit_side *closed = kit_remote(0, NULL),
                    *killed = kit_remote(1, NULL);

    kit_lookup_each_other(a, c);
    kit_lookup(a, closed);
    kit_lookup(a, killed);
    kit_close(closed);
    kit_signal(killed, SIGKILL);
    kit_step("sends to a class that was closed");
    use_no_peer(a, kit_number(closed));
    kit_round_trip(a, c, 12);
    kit_step("sends to a class that was killed");
    use_no_peer(a, kit_number(killed));
    kit_round_trip(a, c, 12);
}

/* Looked up after it has exited: the lookup is local and may succeed. */
static void
lookup_no_peer(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_remote(0, NULL);
    struct kit_class *cls = kit_class_of(a);
    char text[KIT_TEXT_MAX];
    const char *before;
    int32_t result;
    uint32_t number = KIT_ADDRS - 1;

    memcpy(text, kit_address(b), sizeof text);
    kit_signal(b, SIGKILL);
    before = kit_call_enter("addr_lookup");
    result = cls->ops.addr_lookup(cls->cls, text, &cls->addrs[number]);
    kit_call_leave(before);
    if (result == NA_PLUGIN_OK) {
        use_no_peer(a, number);
        return;
    }
    kit_expect(result < 0 && kit_code_known(result), 12,
        "addr_lookup returns OK or one of the errors", "%d", result);
    kit_expect(!cls->addrs[number], 12, "outputs are untouched on an error",
        "the address is not");
}

/* A class that does not listen: sends to it end, with or without an error. */
static void
not_listening(void)
{
    struct kit_open_options how = {.not_listening = true};
    struct kit_side *a = kit_local(NULL), *b = kit_remote(0, &how);
    struct kit_side *c = kit_remote(1, NULL);

    kit_lookup(a, b);
    kit_lookup_each_other(a, c);
    kit_recv_unexpected(b, 0, kit_small(a));
    for (uint32_t i = 0; i < 4; i++) {
        struct kit_request request = {.kind = KIT_SEND_UNEXPECTED,
            .op = i,
            .peer = kit_number(b),
            .length = kit_small(a),
            .may_fail = true};

        kit_post(a, &request);
    }
    for (uint32_t i = 0; i < 4; i++)
        kit_await_dead(a, i, true);
    kit_round_trip(a, c, 12);
    /* It may send first, and is reachable at the source of its message. */
    kit_step("the class that does not listen sends");
    kit_lookup(b, a);
    kit_recv_unexpected(a, 10, kit_small(a));
    kit_send_unexpected(b, 10, a, kit_small(a), 1, 1);
    kit_await_ok(a, 10, 11);
    kit_await_ok(b, 10, 7);
    kit_keep_source(a, 10, 40);
    kit_recv_expected(b, 12, a, kit_small(a), 3);
    kit_post(a, &(struct kit_request){.kind = KIT_SEND_EXPECTED,
                    .op = 12,
                    .peer = 40,
                    .tag = 3,
                    .length = kit_small(a),
                    .seed = 4});
    kit_await_message(b, 12, 11, kit_small(a), 3, 4, KIT_NOBODY);
}

/* Killed after its first submission, before it polled. */
#define FIRST_SENDS 7U
static void
killed_at_first_send(void)
{
    struct kit_side *a = kit_local(NULL), *c = kit_remote(FIRST_SENDS, NULL);
    uint64_t length = kit_small(a);
    uint64_t header = kit_opened(a)->unexpected_header_size;

    kit_lookup_each_other(a, c);
    kit_recv_unexpected(a, 0, length);
    for (uint32_t i = 0; i < FIRST_SENDS; i++) {
        struct kit_side *b = kit_remote(i, NULL);
        struct kit_completion end;

        kit_polls(b, false);
        kit_lookup_both(b, a);
        kit_recv_expected(a, 2, b, length, 1);
        if (i % 2 == 1)
            kit_run_for(1000000);
        kit_send_unexpected(b, 0, a, length, 1, i);
        if (i % 3 == 1)
            kit_run();
        kit_signal(b, SIGKILL);
        kit_round_trip(a, c, 12);
        kit_await_dead(a, 2, false);
        /* The message may have arrived; its source is then a valid address. */
        kit_get_completion(a, 0, &end);
        if (end.ended) {
            kit_expect(
                end.status == NA_PLUGIN_OK && end.seed <= i &&
                    end.hash == kit_pattern_hash(length - header, end.seed),
                11, "what arrives from a peer that dies is whole", "%s",
                kit_completion_text(&end));
            kit_recv_unexpected(a, 0, length);
        }
        kit_addr_free(a, kit_number(b));
    }
}

/* CYCLES: a worker process forks processes and kills them at any time. */
struct cycles {
    uint32_t count;
    uint64_t length;
    char host[KIT_TEXT_MAX - 16];
};

/* Connects, sends, and polls forever. */
#define MESSAGES 64U
__attribute__((noreturn)) static void
run_cycle(const struct cycles *cycles)
{
    static const struct kit_open_options usual;
    struct kit_class *cls = kit_class_open(&usual, 1);

    kit_class_lookup(cls, 0, cycles->host);
    for (uint32_t i = 0;; kit_class_poll(cls, 0)) {
        struct kit_request request = {.kind = KIT_SEND_UNEXPECTED,
            .op = i % 4,
            .length = cycles->length,
            .seed = i};
        struct kit_completion end;

        kit_class_end(cls, request.op, &end);
        if (i == MESSAGES || !end.ended)
            continue;
        kit_class_post(cls, &request);
        i++;
    }
}

static void
act_cycles(struct kit_class *cls, void *bytes)
{
    const struct cycles *cycles = bytes;

    (void) cls;
    for (uint32_t i = 0; i < cycles->count; i++) {
        struct timespec age = {.tv_nsec = 300000L * (i % 20)};
        pid_t parent = getpid(), child = fork();
        int status = 0;

        if (child < 0)
            kit_not_run("no process");
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(0);
            run_cycle(cycles);
        }
        nanosleep(&age, NULL);
        kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
        if (WIFEXITED(status))
            _exit(WEXITSTATUS(status));
    }
}

/* Receives and answers each source, dead or alive. */
static uint32_t
answer(struct kit_side *a, uint64_t length)
{
    struct kit_request request = {.kind = KIT_SEND_EXPECTED,
        .op = 8,
        .peer = 40,
        .length = length,
        .may_fail = true};
    struct kit_completion end;

    kit_get_completion(a, 0, &end);
    if (!end.ended)
        return 0;
    kit_expect(end.status == NA_PLUGIN_OK, 12,
        "an unexpected receive has no peer, and ends with a message", "%s",
        kit_completion_text(&end));
    kit_keep_source(a, 0, 40);
    kit_post(a, &request);
    kit_await_dead(a, 8, true);
    kit_addr_free(a, 40);
    kit_recv_unexpected(a, 0, length);
    return 1;
}

/* The process soon has no more descriptors than before. */
static void
expect_returned(uint32_t descriptors)
{
    uint64_t limit = kit_now() + kit_patience();

    kit_step("gives descriptors back");
    while (kit_descriptors() > descriptors) {
        kit_run_for(1000000);
        kit_expect(kit_now() < limit, 12,
            "what was allocated for a peer is freed after its end",
            "%u descriptors, not %u", kit_descriptors(), descriptors);
    }
}

static void
run_cycles(struct kit_side *a, struct kit_side *worker, uint32_t count)
{
    struct cycles cycles = {.count = count, .length = kit_small(a)};
    uint64_t length = cycles.length;

    if (kit_launched())
        kit_not_run("processes that are forked have no part in a job");
    strncpy(cycles.host, kit_address(a), sizeof cycles.host - 1);
    if (strlen(kit_address(a)) >= sizeof cycles.host)
        kit_not_run("an address of %zu bytes", strlen(kit_address(a)));
    kit_begin(worker, act_cycles, &cycles, sizeof cycles);
    while (!kit_joined(worker)) {
        kit_run();
        answer(a, length);
    }
    kit_join(worker, &cycles, sizeof cycles);
    /* Their messages must still be received. */
    for (uint64_t end = kit_now() + kit_quiet(); kit_now() < end; kit_run())
        if (answer(a, length) > 0)
            end = kit_now() + kit_quiet();
}

static void
many_killed(void)
{
    struct kit_side *worker = kit_worker(0), *a = kit_local(NULL);
    struct kit_side *c = kit_remote(1, NULL);
    uint32_t descriptors, count = kit_times(400);
    long kib;

    kit_recv_unexpected(a, 0, kit_small(a));
    kit_lookup_both(a, c);
    kit_round_trip(a, c, 11);
    kit_run_for(
        kit_quiet() / 4); /* what a library opens once it is connected */
    descriptors = kit_descriptors();
    kit_step("peers connect and are killed");
    run_cycles(a, worker, count / 4);
    expect_returned(descriptors);
    kib = kit_anonymous_kib();
    run_cycles(a, worker, count);
    expect_returned(descriptors);
    kit_expect(kit_anonymous_kib() - kib < 1024 + 4 * (long) count, 12,
        "what was allocated for a peer is freed after its end",
        "%ld KiB more after %u peers", kit_anonymous_kib() - kib, count);
    kit_round_trip(a, c, 12);
}

/* Opens another side, which a looks up, and closes it. */
static void
connect_peer(struct kit_side *a)
{
    struct kit_side *b = kit_remote(0, NULL);

    kit_lookup_each_other(a, b);
    kit_addr_free(a, kit_number(b));
    kit_close(b);
}

static void
many_closed(void)
{
    struct kit_side *a = kit_local(NULL);
    uint32_t descriptors, count = kit_times(200);
    long kib;

    for (uint32_t i = 0; i < 5; i++)
        connect_peer(a);
    kit_run_for(kit_quiet());
    descriptors = kit_descriptors();
    for (uint32_t i = 0; i < count / 4; i++)
        connect_peer(a);
    expect_returned(descriptors);
    kib = kit_anonymous_kib();
    kit_step("peers connect and disconnect");
    for (uint32_t i = 0; i < count; i++)
        connect_peer(a);
    expect_returned(descriptors);
    kit_expect(kit_anonymous_kib() - kib < 1024 + 4 * (long) count, 12,
        "what was allocated for a peer is freed after its end",
        "%ld KiB more after %u peers", kit_anonymous_kib() - kib, count);
}

/* The same within one process, often enough to detect a leak of each peer. */
static void
connect_local(struct kit_side *a)
{
    struct kit_side *b = kit_local(NULL);

    kit_lookup_each_other(a, b);
    kit_addr_free(a, kit_number(b));
    kit_close(b);
}

/* Registers memory and frees it: UCX 1.18 keeps 150 bytes for each munmap in
 * the process until the next registration. */
static void
register_local(struct kit_side *a)
{
    if (!kit_class_offers(kit_class_of(a), KIT_NEEDS_RMA))
        return;
    kit_region(
        a, &(struct kit_region){
               .access = NA_PLUGIN_MEM_READ, .segments = 1, .length = 8192});
    kit_region_free(a, 0);
}

/* Returns the KiB that so many peers leave. */
static long
growth_by_peers(struct kit_side *a, uint32_t count)
{
    long before = kit_anonymous_kib();

    for (uint32_t i = 0; i < count; i++) {
        connect_local(a);
        register_local(a);
    }
    kit_run_for(kit_quiet() / 4);
    return kit_anonymous_kib() - before;
}

static void
peers_freed(void)
{
    struct kit_side *a = kit_local(NULL);
    uint32_t count = 100;
    long more, again;

    growth_by_peers(a, count / 2);
    more = growth_by_peers(a, count);
    /* A leak of each peer shows each time; a growing pool that is reused (a MiB
     * of UCX's), once. */
    again = growth_by_peers(a, count);
    if (again < more)
        more = again;
    /* The libraries keep some memory of each class. */
    kit_expect(more < 4 * (long) count, 12,
        "what was allocated for a peer is freed after its end",
        "%ld KiB more after %u peers", more, count);
}

static const struct kit_case cases[] = {
    {"send_no_peer", 12, 0, 3, 0,
        "sends to a peer that has exited end with an error", send_no_peer},
    {"lookup_no_peer", 12, 0, 1, 0,
        "the lookup of an absent peer succeeds or fails", lookup_no_peer},
    {"not_listening", 12, 0, 2, 0,
        "a class that does not listen reaches others", not_listening},
    {"killed_at_first_send", 12, 0, FIRST_SENDS + 1, 0,
        "peers that die while they connect are harmless", killed_at_first_send},
    {"many_killed", 12, 0, 2, 0, "nothing is leaked for peers that are killed",
        many_killed},
    {"many_closed", 12, 0, 1, 0, "nothing is leaked for peers that disconnect",
        many_closed},
    {"peers_freed", 12, 0, 0, 0, "no memory is leaked for each former peer",
        peers_freed},
};

const struct kit_group kit_cases_no_peer = {
    cases, sizeof cases / sizeof cases[0]};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Hundreds of peers of one server, which connect one after another, or all at
 * once. Prints the cost of each for the server. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "counts.h"
#include "runner.h"
#include "side.h"

#define PROCESSES_MOST 300U
#define CLASSES_MOST 30U /* of one process */
/* Limit for a call in seconds. Other programs may use the processors as
 * well. */
#define PATIENCE_S "120s"

/* The callers, and how they connect. In a soak there are 300 processes. */
static const struct crowd {
    const char *protocol;
    bool at_once;
    uint32_t processes;
    enum test_count classes; /* classes of each process */
} crowds[] = {
    {"tcp", false, 10, TEST_CROWD_TCP_IN_TURN},
    {"tcp", true, 10, TEST_CROWD_TCP_AT_ONCE},
    {"all", true, 10, TEST_CROWD_ALL_AT_ONCE},
    {"tcp", true, PROCESSES_MOST, TEST_CROWD_TCP_APART},
};

struct many {
    const struct crowd *crowd;
    uint32_t classes;
    char name[SIDE_TEXT];
    int ready[2]; /* a byte per process: its classes are open */
    int start[2]; /* closed: start calling */
    int done[2];  /* a byte per class: it was answered */
    int stay[2];  /* closed: exit */
};

/* Waits until all other ends of a pipe are closed. */
static void
await_end(const int ends[2])
{
    char byte;

    close(ends[1]);
    if (read(ends[0], &byte, 1) != 0)
        _exit(1);
}

static void
tell(const int ends[2])
{
    if (write(ends[1], "x", 1) != 1)
        _exit(1);
}

/* Sleeps until one of the classes has events: hundreds of spinning processes
 * would starve the server. */
static void
sleep_until_event(struct side *sides, uint32_t count)
{
    struct pollfd fds[CLASSES_MOST];
    uint64_t least_ns = 1000000000;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t sleep_ns = 0;
        fds[i] = (struct pollfd){
            .fd = sides[i].wait->fd(sides[i].ctx), .events = POLLIN};
        if (sides[i].wait->arm(sides[i].ctx, &sleep_ns) != NA_PLUGIN_OK)
            least_ns = 0;
        else if (sleep_ns < least_ns)
            least_ns = sleep_ns;
    }
    poll(fds, count, (int) ((least_ns + 999999) / 1000000));
}

/* All classes of this process call before the first is answered. */
static void
call_at_once(const struct many *many, struct side *sides)
{
    static struct act sends[CLASSES_MOST], recvs[CLASSES_MOST];
    bool told[CLASSES_MOST] = {false};
    uint32_t left = many->classes;

    for (uint32_t i = 0; i < many->classes; i++) {
        na_plugin_addr *addr = side_lookup(&sides[i], many->name);
        act_init(&sends[i], &sides[i]);
        act_init(&recvs[i], &sides[i]);
        act_recv(&recvs[i], addr, i);
        act_send(&sends[i], true, &i, sizeof(i), addr, i);
    }
    while (left != 0) {
        sleep_until_event(sides, many->classes);
        for (uint32_t i = 0; i < many->classes; i++) {
            side_poll(&sides[i]);
            if (told[i] || sends[i].pending || recvs[i].pending)
                continue;
            if (sends[i].end.status != NA_PLUGIN_OK ||
                recvs[i].end.status != NA_PLUGIN_OK)
                _exit(1);
            told[i] = true;
            left--;
            tell(many->done);
        }
    }
}

static void
call_in_turn(const struct many *many, struct side *sides)
{
    for (uint32_t i = 0; i < many->classes; i++) {
        na_plugin_addr *addr = side_lookup(&sides[i], many->name);
        if (echo_trip(&sides[i], addr, i) != NA_PLUGIN_OK)
            _exit(1);
        tell(many->done);
    }
}

/* Classes of one process, each a peer that does not listen. */
static void
many_run(void *arg)
{
    const struct many *many = arg;
    static struct side sides[CLASSES_MOST];

    close(many->ready[0]);
    close(many->done[0]);
    for (uint32_t i = 0; i < many->classes; i++) {
        sides[i].key = "ucx.connect_timeout";
        sides[i].value = PATIENCE_S;
        side_open(&sides[i], many->crowd->protocol, "127.0.0.1", 0, 0);
    }
    tell(many->ready);
    await_end(many->start);
    if (many->crowd->at_once)
        call_at_once(many, sides);
    else
        call_in_turn(many, sides);
    close(many->done[1]);
    await_end(many->stay);
    _exit(0);
}

static uint64_t
resident_kib(pid_t pid)
{
    char path[64], line[256];
    unsigned long kib = 0;

    snprintf(path, sizeof(path), "/proc/%d/status", (int) pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtoul(line + 6, NULL, 10);
    if (file != NULL)
        fclose(file);
    return kib;
}

static void
await_bytes(const int ends[2], uint32_t count, const char *what)
{
    char byte;

    for (uint32_t i = 0; i < count; i++)
        ck_assert_msg(read(ends[0], &byte, 1) == 1, "%u of %u %s", (unsigned) i,
            (unsigned) count, what);
}

static void
serve_many(struct many *many, uint32_t processes)
{
    static pid_t pids[PROCESSES_MOST];
    const struct crowd *crowd = many->crowd;
    uint32_t all = processes * many->classes;

    /* forked first: it must not inherit the pipes, whose closing is a signal */
    pid_t server = echo_start(crowd->protocol, "127.0.0.1", 0, many->name);
    ck_assert_int_eq(pipe(many->ready), 0);
    ck_assert_int_eq(pipe(many->start), 0);
    ck_assert_int_eq(pipe(many->done), 0);
    ck_assert_int_eq(pipe(many->stay), 0);
    for (uint32_t i = 0; i < processes; i++)
        pids[i] = spawn(many_run, many);
    close(many->ready[1]);
    close(many->done[1]);
    await_bytes(many->ready, processes, "processes are ready");
    uint64_t before = resident_kib(server);
    uint64_t begun = now_ms();
    close(many->start[1]);
    await_bytes(many->done, all, "classes were answered");
    uint64_t took = now_ms() - begun;
    uint64_t after = resident_kib(server);
    printf("%s: %u peers in %u processes, %s: %lu ms, %lu KiB each at the "
           "server\n",
        crowd->protocol, (unsigned) all, (unsigned) processes,
        crowd->at_once ? "at once" : "in turn", (unsigned long) took,
        (unsigned long) ((after - before) / all));
    close(many->stay[1]);
    for (uint32_t i = 0; i < processes; i++)
        echo_stop(pids[i], SIGKILL);
    echo_stop(server, SIGKILL);
}

/* Answers each request. */
START_TEST(many_peers_are_served_by_one)
{
    const struct crowd *crowd = &crowds[_i];
    struct many many = {.crowd = crowd, .classes = test_count(crowd->classes)};
    struct rlimit limit;

    if (many.classes == 0)
        return;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    serve_many(&many, crowd->processes);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_set_timeout(tcase, 280);
    tcase_add_loop_test(tcase, many_peers_are_served_by_one, 0,
        (int) (sizeof(crowds) / sizeof(crowds[0])));
    return run_tcase("ucx many", tcase);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a case in its process: starts it, limits its time, determines its
 * verdict. */
#include "check/run.h"

#include "check/launch.h"
#include "check/process.h"
#include "check/target.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Written by a case that has run to its end. The exit status alone is not
 * sufficient: the plugin may call exit. */
static const char complete[] = "complete";

__attribute__((noreturn)) static void
case_main(const struct kit_case *it, struct kit_shared *shared, int output,
    int verdict, pid_t parent, bool calls)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    close(output);
    kit_shared = shared;
    kit_running = it;
    kit_shared_enter(0);
    verdict = kit_launch_move(verdict);
    if (calls && kit_launched())
        kit_launch(it->processes);
    kit_processes_start(it->processes);
    if (calls && kit_launched())
        kit_launch_join(0);
    it->run();
    kit_sides_end();
    kit_processes_end();
    if (write(verdict, complete, sizeof complete) != (ssize_t) sizeof complete)
        _exit(1);
    exit(0);
}

/* Whether the case has run to its end. */
static bool
is_complete(int verdict)
{
    char text[sizeof complete] = "";

    return read(verdict, text, sizeof text) == (ssize_t) sizeof text &&
           memcmp(text, complete, sizeof text) == 0;
}

/* Waits until the process has ended or the time is over. */
static bool
await_end(pid_t pid, uint32_t seconds, int *status_p)
{
    uint64_t end = kit_now() + (uint64_t) seconds * 1000000000U;
    struct pollfd ended = {.fd = pidfd_open(pid, 0), .events = POLLIN};
    bool in_time = false;

    while (ended.fd >= 0) {
        uint64_t now = kit_now();
        int left = now < end ? (int) ((end - now) / 1000000U) + 1 : 0;
        int ready = poll(&ended, 1, left);

        if (ready > 0)
            in_time = true;
        if (ready > 0 || (ready == 0 && left == 0))
            break;
    }
    if (ended.fd >= 0)
        close(ended.fd);
    /* Ends all other processes of the case. */
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    while (waitpid(pid, status_p, 0) < 0 && errno == EINTR)
        ;
    return in_time;
}

static void
read_output(int fd, char *text)
{
    off_t size = lseek(fd, 0, SEEK_END);
    off_t from = size > (off_t) KIT_OUTPUT_MAX - 1
                     ? size - ((off_t) KIT_OUTPUT_MAX - 1)
                     : 0;
    ssize_t n = size > 0 ? pread(fd, text, KIT_OUTPUT_MAX - 1, from) : 0;

    text[n > 0 ? n : 0] = '\0';
}

__attribute__((format(printf, 3, 4))) static void
blame(struct kit_outcome *outcome, const char *expected, const char *found, ...)
{
    va_list values;

    va_start(values, found);
    outcome->verdict = KIT_FAILED;
    outcome->rule = outcome->it->rule;
    snprintf(outcome->expected, sizeof outcome->expected, "%s", expected);
    vsnprintf(outcome->found, sizeof outcome->found, found, values);
    va_end(values);
}

static void
judge(struct kit_outcome *outcome, struct kit_shared *shared, bool in_time,
    uint32_t seconds, int status, bool finished)
{
    const struct kit_slot *slot = &shared->slots[0];

    outcome->step = atomic_load_explicit(&slot->step, memory_order_relaxed);
    outcome->call = atomic_load_explicit(&slot->call, memory_order_relaxed);
    for (uint32_t i = 1; !outcome->call && i <= KIT_PROCESSES; i++)
        outcome->call =
            atomic_load_explicit(&shared->slots[i].call, memory_order_relaxed);
    if (atomic_load_explicit(&shared->taken, memory_order_acquire) != 0) {
        outcome->verdict = shared->verdict;
        outcome->rule = shared->rule;
        memcpy(outcome->expected, shared->expected, sizeof outcome->expected);
        memcpy(outcome->found, shared->found, sizeof outcome->found);
    } else if (!in_time) {
        blame(outcome, "an end", "none after %d s", (int) seconds);
    } else if (WIFSIGNALED(status)) {
        blame(outcome, "no crash", "signal %d", WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        blame(
            outcome, "an end in order", "exit status %d", WEXITSTATUS(status));
    } else if (!finished) {
        blame(outcome, "a plugin does not end the process",
            "it ended with exit status 0%s%s", outcome->call ? " within " : "",
            outcome->call ? outcome->call : "");
    } else {
        outcome->verdict = KIT_PASSED;
    }
}

/* Returns a feature that the case needs and the plugin lacks, or NULL. */
static const char *
lacking(uint32_t needs, const struct kit_facts *facts)
{
    if (needs & KIT_NEEDS_RMA && !facts->rma)
        return "no put, get and registration";
    if (needs & KIT_NEEDS_MULTI_RECV && !facts->multi_recv)
        return "no " NA_PLUGIN_MULTI_RECV_ID;
    if (needs & KIT_NEEDS_WAIT && !facts->wait)
        return "no " NA_PLUGIN_WAIT_ID;
    if (needs & KIT_NEEDS_CONTEXTS && facts->max_contexts < 2)
        return "one context only";
    if (needs & KIT_NEEDS_SERIALIZE && !facts->serialize)
        return "addresses have no form as bytes";
    if (needs & KIT_NEEDS_ALLOC && !facts->alloc)
        return "no " NA_PLUGIN_MEM_ALLOC_ID;
    if (needs & KIT_NEEDS_REPORT && !facts->report)
        return "no " NA_PLUGIN_REPORT_ID;
    if (needs & KIT_NEEDS_FORGET && !facts->forget)
        return "no addr_forget";
    return NULL;
}

void
kit_run_case(const struct kit_case *it, struct kit_facts *facts,
    struct kit_outcome *outcome_p)
{
    uint32_t seconds = it->seconds ? it->seconds : kit_target.seconds;
    const char *lacks = lacking(it->needs, facts);
    struct kit_shared *shared = kit_shared_create();
    int output = memfd_create("kit-output", MFD_CLOEXEC), status = 0;
    int verdict[2] = {-1, -1};
    uint64_t began = kit_now();
    pid_t pid = -1, self = getpid();
    /* The static cases precede the first one and call no function of the
     * plugin. */
    bool calls = facts->known || it == &kit_case_first;

    memset(outcome_p, 0, sizeof *outcome_p);
    outcome_p->it = it;
    if (lacks && facts->known) {
        outcome_p->verdict = KIT_NOT_OFFERED;
        snprintf(outcome_p->found, sizeof outcome_p->found, "%s", lacks);
    } else if (!shared || output < 0 ||
               pipe2(verdict, O_CLOEXEC | O_NONBLOCK) != 0 ||
               (pid = fork()) < 0) {
        outcome_p->verdict = KIT_NOT_RUN;
        snprintf(
            outcome_p->found, sizeof outcome_p->found, "%s", strerror(errno));
    } else {
        bool in_time;

        if (pid == 0)
            case_main(it, shared, output, verdict[1], self, calls);
        setpgid(pid, pid);
        in_time = await_end(pid, seconds, &status);
        judge(outcome_p, shared, in_time, seconds, status,
            is_complete(verdict[0]));
        outcome_p->seconds = (double) (kit_now() - began) / 1e9;
        outcome_p->lines =
            atomic_load_explicit(&shared->lines, memory_order_relaxed);
        memcpy(outcome_p->log, shared->log, sizeof outcome_p->log);
        read_output(output, outcome_p->output);
        if (!facts->known && shared->facts.known)
            *facts = shared->facts;
    }
    for (int i = 0; i < 2; i++)
        if (verdict[i] >= 0)
            close(verdict[i]);
    if (output >= 0)
        close(output);
    kit_shared_destroy(shared);
}

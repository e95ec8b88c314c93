/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts, pins and ends processes. */
#include "perf/process.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf/clock.h"

static volatile sig_atomic_t interrupted;

static void
on_signal(int number)
{
    (void) number;
    interrupted = 1;
}

void
perf_process_catch(void)
{
    /* No SA_RESTART: a signal interrupts system calls. */
    struct sigaction action = {.sa_handler = on_signal};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool
perf_process_interrupted(void)
{
    return interrupted != 0;
}

pid_t
perf_process_fork(void)
{
    pid_t parent = getpid(), pid;

    fflush(NULL);
    pid = fork();
    if (pid != 0)
        return pid;
    interrupted = 0;
    signal(SIGINT, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The parent may have ended before that. */
    if (getppid() != parent)
        _exit(1);
    return 0;
}

char *
perf_process_find(const char *name)
{
    const char *path = getenv("PATH");
    char *found = NULL;

    if (strchr(name, '/'))
        return access(name, X_OK) == 0 ? realpath(name, NULL) : NULL;
    path = path ? path : "/usr/bin:/bin";
    while (*path && !found) {
        int length = (int) strcspn(path, ":");
        char *full = NULL;

        if (length > 0 && asprintf(&full, "%.*s/%s", length, path, name) < 0)
            return NULL;
        if (full && access(full, X_OK) == 0)
            found = realpath(full, NULL);
        free(full);
        path += length;
        path += *path == ':';
    }
    return found;
}

bool
perf_process_set_cpu(pid_t pid, int32_t cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (cpu >= 0 && cpu < CPU_SETSIZE)
        CPU_SET((size_t) cpu, &set);
    return sched_setaffinity(pid, sizeof set, &set) == 0;
}

bool
perf_process_pin(int32_t cpu, struct perf_failure *failure)
{
    if (cpu < 0 || perf_process_set_cpu(0, cpu))
        return true;
    perf_failure_set(
        failure, "cannot run on processor %d: %s", cpu, strerror(errno));
    return false;
}

bool
perf_process_wait(pid_t pid, unsigned int timeout_ms, int *status_p)
{
    const struct timespec pause = {0, (long) PERF_MS_NS};
    uint64_t deadline = perf_clock_now() + timeout_ms * PERF_MS_NS;
    pid_t ended;

    for (;;) {
        ended = waitpid(pid, status_p, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR))
            return true;
        if (perf_clock_now() >= deadline)
            return false;
        nanosleep(&pause, NULL);
    }
}

void
perf_process_end(pid_t pid, bool ask, unsigned int timeout_ms)
{
    int status;

    if (pid <= 0)
        return;
    if (ask)
        kill(pid, SIGTERM);
    if (perf_process_wait(pid, timeout_ms, &status))
        return;
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Child processes, their output, and resources of a process. Nothing here
 * allocates. */
#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct run *run_current;

static void append(char *text, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void
append(char *text, const char *format, va_list args)
{
    size_t length = strlen(text);

    vsnprintf(text + length, RUN_TEXT - length, format, args);
}

void
run_log(const char *format, va_list args)
{
    append(run_current->log, format, args);
    run_current->logged++;
}

void
run_fail(const char *format, ...)
{
    size_t length;
    va_list args;

    va_start(args, format);
    append(run_current->text, format, args);
    va_end(args);
    length = strlen(run_current->text);
    snprintf(run_current->text + length, RUN_TEXT - length, "\n");
}

void
run_doing(const char *what)
{
    snprintf(run_current->doing, sizeof run_current->doing, "%s", what);
}

/* Prints the stack of a run that hangs or crashes. */
static void
on_signal(int number)
{
    void *pc[40];
    int count = backtrace(pc, 40);

    backtrace_symbols_fd(pc, count, STDERR_FILENO);
    signal(number, SIG_DFL);
    raise(number);
}

static bool
wait_for(pid_t child, unsigned limit_ms, int *status_p)
{
    struct pollfd ended = {
        .events = POLLIN, .fd = (int) syscall(SYS_pidfd_open, child, 0)};
    bool in_time;

    if (ended.fd < 0)
        abort();
    in_time = poll(&ended, 1, (int) limit_ms) == 1;
    close(ended.fd);
    if (!in_time)
        kill(child, SIGABRT);
    for (int i = 0; i < 100 && !in_time; i++) {
        if (waitpid(child, status_p, WNOHANG) == child)
            return false;
        usleep(10000);
    }
    if (!in_time)
        kill(child, SIGKILL);
    while (waitpid(child, status_p, 0) < 0 && errno == EINTR)
        ;
    return in_time;
}

bool
run_apart(void (*body)(void *arg), void *arg, unsigned limit_ms)
{
    int status = 0;
    bool in_time;
    pid_t child;

    if (!run_current) {
        run_current = mmap(NULL, sizeof *run_current, PROT_READ | PROT_WRITE,
            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (run_current == MAP_FAILED)
            abort();
    }
    memset(run_current, 0, sizeof *run_current);
    fflush(NULL);
    child = fork();
    if (child < 0)
        abort();
    if (child == 0) {
        signal(SIGABRT, on_signal);
#ifndef __SANITIZE_ADDRESS__
        signal(SIGSEGV, on_signal);
        signal(SIGBUS, on_signal);
#endif
        body(arg);
        _exit(0);
    }
    in_time = wait_for(child, limit_ms, &status);
    if (!in_time)
        run_fail("timed out after %u ms", limit_ms);
    else if (WIFSIGNALED(status))
        run_fail("signal %s", strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
        run_fail("exit status %d", WEXITSTATUS(status));
    return !*run_current->text;
}

static unsigned
descriptors(void)
{
    char buffer[4096];
    int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsigned count = 0;
    ssize_t got;

    while ((got = getdents64(dir, buffer, sizeof buffer)) > 0) {
        for (ssize_t at = 0; at < got;) {
            struct dirent64 entry;

            memcpy(&entry.d_reclen,
                buffer + at + offsetof(struct dirent64, d_reclen),
                sizeof entry.d_reclen);
            count +=
                buffer[at + (ssize_t) offsetof(struct dirent64, d_name)] != '.';
            at += entry.d_reclen;
        }
    }
    close(dir);
    return count;
}

static void
mapping(struct holdings *holdings, const char *line)
{
    unsigned long from, to;
    char rights[5];

    if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) != 3)
        return;
    if (rights[3] == 's') {
        holdings->shared++;
        holdings->shared_bytes += to - from;
    }
}

void
holdings_take(struct holdings *holdings)
{
    char line[4200];
    size_t length = 0;
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char byte[4096];
    ssize_t got;

    *holdings = (struct holdings){.descriptors = descriptors()};
    while ((got = read(maps, byte, sizeof byte)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            if (byte[i] != '\n') {
                if (length < sizeof line - 1)
                    line[length++] = byte[i];
                continue;
            }
            line[length] = '\0';
            mapping(holdings, line);
            length = 0;
        }
    }
    close(maps);
}

static void
list_descriptors(void)
{
    for (int i = 3; i < 64; i++) {
        char path[40], target[200];
        ssize_t length;

        snprintf(path, sizeof path, "/proc/self/fd/%d", i);
        length = readlink(path, target, sizeof target - 1);
        if (length > 0)
            run_fail("  %d: %.*s", i, (int) length, target);
    }
}

void
holdings_compare(const struct holdings *before)
{
    struct holdings now;

    holdings_take(&now);
    if (now.descriptors > before->descriptors) {
        run_fail(
            "%u descriptors, %u before", now.descriptors, before->descriptors);
        list_descriptors();
    }
    if (now.shared > before->shared || now.shared_bytes > before->shared_bytes)
        run_fail("%u shared mappings of %zu bytes, before %u of %zu",
            now.shared, now.shared_bytes, before->shared, before->shared_bytes);
}

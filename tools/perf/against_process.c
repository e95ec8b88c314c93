/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts, watches and ends the processes of a peer's benchmark. */
#include "perf/against_process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf/clock.h"
#include "perf/failure.h"
#include "perf/process.h"

#define OUTPUT_MAX ((off_t) 1 << 20)
#define SHOWN_HALF 2000U /* of the beginning, and of the end */
/* Below Linux's ephemeral ports, above most well-known ones. */
#define PORT_LEAST 20000U
#define PORT_COUNT 12000U
#define PORT_TRIES 100

/* Ends the child before exec. Async-signal-safe. */
static void __attribute__((noreturn)) exit_with(const char *what)
{
    ssize_t ignored = write(STDERR_FILENO, what, strlen(what));

    (void) ignored;
    _exit(127);
}

static void __attribute__((noreturn))
exec_program(const struct perf_launch *launch, int output)
{
    int null = open("/dev/null", O_RDONLY);

    setpgid(0, 0);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
        _exit(127);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    if (launch->cpu >= 0 && !perf_process_set_cpu(0, launch->cpu))
        exit_with("cannot run on that processor\n");
    if (chdir(launch->folder) != 0)
        exit_with("cannot enter the temporary folder\n");
    execve(launch->path, launch->argv, launch->environment);
    exit_with("cannot be run\n");
}

bool
perf_child_start(struct perf_child *child, const char *name,
    const struct perf_launch *launch)
{
    *child = (struct perf_child){.name = name, .pidfd = -1};
    child->output = memfd_create(name, MFD_CLOEXEC);
    if (child->output < 0)
        goto failed;
    child->pid = perf_process_fork();
    if (child->pid == 0)
        exec_program(launch, child->output);
    if (child->pid < 0) {
        child->pid = 0;
        goto failed;
    }
    /* Both sides call it, since either may run first. */
    setpgid(child->pid, child->pid);
    child->pidfd = pidfd_open(child->pid, 0);
    if (child->pidfd >= 0)
        return true;
failed:
    fprintf(stderr, "talaria perf: %s: %s\n", name, strerror(errno));
    return false;
}

/* The group's number is valid until its leader is reaped. */
static void
reap(struct perf_child *child)
{
    kill(-child->pid, SIGKILL);
    kill(child->pid, SIGKILL);
    while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
        ;
    child->pid = 0;
}

bool
perf_child_wait(struct perf_child *child, uint64_t deadline)
{
    struct pollfd entry = {.fd = child->pidfd, .events = POLLIN};

    if (child->pid == 0)
        return true;
    for (;;) {
        uint64_t now = perf_clock_now();
        uint64_t left = now < deadline ? deadline - now : 0;
        int ready = poll(&entry, 1, (int) (left / PERF_MS_NS));

        if (ready > 0)
            break;
        if (left < PERF_MS_NS || perf_process_interrupted() ||
            (ready < 0 && errno != EINTR))
            return false;
    }
    reap(child);
    return true;
}

char *
perf_child_output(const struct perf_child *child)
{
    off_t size = 0, start;
    struct stat stat;
    char *text;
    ssize_t got;

    if (child->output >= 0 && fstat(child->output, &stat) == 0)
        size = stat.st_size;
    start = size > OUTPUT_MAX ? size - OUTPUT_MAX : 0;
    text = malloc((size_t) (size - start) + 1);
    if (!text)
        return NULL;
    got = pread(child->output, text, (size_t) (size - start), start);
    text[got > 0 ? got : 0] = '\0';
    /* The output may contain zero bytes. */
    for (ssize_t i = 0; i < got; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    return text;
}

static void
show_lines(char *text)
{
    char shown[400], *line, *rest;

    for (line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        for (char *tab = line; (tab = strchr(tab, '\t'));)
            *tab = ' ';
        perf_text_copy(shown, sizeof shown, line, strlen(line));
        fprintf(stderr, "    %s\n", shown);
    }
}

void
perf_child_show(const struct perf_child *child)
{
    char *text = perf_child_output(child), *end;
    size_t length = text ? strlen(text) : 0;

    if (child->pid == 0 && WIFSIGNALED(child->status))
        fprintf(stderr, "talaria perf: %s was ended by signal %d; ",
            child->name, WTERMSIG(child->status));
    else if (child->pid == 0)
        fprintf(stderr, "talaria perf: %s exited with %d; ", child->name,
            WEXITSTATUS(child->status));
    else
        fprintf(stderr, "talaria perf: %s is running; ", child->name);
    fputs(length > 0 ? "it printed:\n" : "it printed nothing\n", stderr);
    if (length > (size_t) 2 * SHOWN_HALF) {
        end = text + length - SHOWN_HALF;
        text[SHOWN_HALF] = '\0';
        show_lines(text);
        fputs("    ...\n", stderr);
        show_lines(end);
    } else if (text) {
        show_lines(text);
    }
    free(text);
}

void
perf_child_end(struct perf_child *child)
{
    if (child->pid > 0)
        reap(child);
    if (child->pidfd >= 0)
        close(child->pidfd);
    if (child->output >= 0)
        close(child->output);
    child->pidfd = child->output = -1;
}

static bool
is_free(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_ANY)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool free_;

    if (fd < 0)
        return false;
    free_ = bind(fd, (const struct sockaddr *) &address, sizeof address) == 0;
    close(fd);
    return free_;
}

uint16_t
perf_port_choose(void)
{
    for (int i = 0; i < PORT_TRIES; i++) {
        uint16_t number, port;

        if (getrandom(&number, sizeof number, 0) != (ssize_t) sizeof number)
            return 0;
        port = (uint16_t) (PORT_LEAST + number % PORT_COUNT);
        if (is_free(port))
            return port;
    }
    return 0;
}

/* Searches a table of the kernel; state 0A is listening. */
static bool
listens_in(const char *table, uint16_t port)
{
    FILE *stream = fopen(table, "re");
    unsigned int local, state;
    char line[512];
    bool found = false;

    while (stream && !found && fgets(line, sizeof line, stream))
        found = sscanf(line, " %*[^:]: %*[0-9A-Fa-f]:%x %*s %x", &local,
                    &state) == 2 &&
                local == port && state == 0x0a;
    if (stream)
        fclose(stream);
    return found;
}

bool
perf_port_listens(uint16_t port)
{
    return listens_in("/proc/net/tcp", port) ||
           listens_in("/proc/net/tcp6", port);
}

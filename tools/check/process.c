/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker process: executes the commands of its socket and polls in
 * between. */
#include "check/process.h"

#include "check/launch.h"

#include "check/shared.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct kit_process processes[KIT_PROCESSES];

bool
kit_process_move(int fd, void *bytes, size_t length, bool out)
{
    char *at = bytes;

    while (length > 0) {
        ssize_t n =
            out ? send(fd, at, length, MSG_NOSIGNAL) : recv(fd, at, length, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        length -= (size_t) n;
    }
    return true;
}

/* Arguments of KIT_BEGIN until KIT_JOIN reads them. */
static unsigned char act_bytes[KIT_TEXT_MAX];

static bool
readable(int fd, int timeout_ms)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};

    return poll(&wanted, 1, timeout_ms) > 0;
}

/* The function starts after the answer was sent. KIT_JOIN is read after it has
 * returned. */
static void
act(int fd, struct kit_executor *executor, const struct kit_command *command,
    struct kit_answer *answer)
{
    memcpy(act_bytes, command->bytes, sizeof act_bytes);
    if (!kit_process_move(fd, answer, sizeof *answer, true))
        _exit(0);
    command->act(executor->cls, act_bytes);
}

/* Carries out one command and sends its answer. If the kit does not read it, the
 * kit has ended, and so does this process. */
static void
execute(int fd, struct kit_executor *executor,
    const struct kit_command *command, struct kit_answer *answer)
{
    memset(answer, 0, offsetof(struct kit_answer, bytes));
    switch (command->verb) {
    case KIT_BEGIN:
        act(fd, executor, command, answer);
        return;
    case KIT_JOIN:
        memcpy(answer->bytes, act_bytes, sizeof act_bytes);
        answer->length = sizeof act_bytes;
        break;
    case KIT_EXIT:
        _exit(0);
    default:
        kit_execute(executor, command, answer);
        break;
    }
    if (!kit_process_move(fd, answer, sizeof *answer, true))
        _exit(0);
}

/* The last bytes of a worker process that ends regularly. */
static const unsigned char end_message[] =
    "a worker process that ends in order";

__attribute__((noreturn)) static void
process_main(int fd)
{
    static struct kit_command command;
    static struct kit_answer answer;
    struct kit_executor executor = {.cls = NULL};

    for (;;) {
        bool polls = executor.cls && executor.cls->polls;

        while (!readable(fd, polls ? 0 : -1))
            if (polls && kit_class_progress(executor.cls) == 0)
                sched_yield();
        if (!kit_process_move(fd, &command, sizeof command, false))
            break;
        /* The next read gets commands that arrived meanwhile. */
        if (command.verb == KIT_GET_COMPLETION && polls)
            kit_class_progress(executor.cls);
        execute(fd, &executor, &command, &answer);
    }
    memcpy(act_bytes, end_message, sizeof end_message);
    kit_process_move(fd, act_bytes, sizeof end_message, true);
    exit(0);
}

/* Whether a process that gets no more commands sends its end message; skips
 * answers before it. */
static bool
has_end_message(int fd)
{
    unsigned char bytes[4096], last[sizeof end_message] = "";
    ssize_t n;

    shutdown(fd, SHUT_WR);
    /* Launched processes end together. */
    while (!(kit_launched() && memcmp(last, end_message, sizeof last) == 0) &&
           ((n = recv(fd, bytes, sizeof bytes, 0)) > 0 ||
               (n < 0 && errno == EINTR))) {
        size_t got = n > 0 ? (size_t) n : 0;
        size_t keep = got < sizeof last ? sizeof last - got : 0;

        memmove(last, last + sizeof last - keep, keep);
        memcpy(last + keep, bytes + got - (sizeof last - keep),
            sizeof last - keep);
    }
    return memcmp(last, end_message, sizeof end_message) == 0;
}

static void
process_start(uint32_t number)
{
    int sockets[2];
    pid_t parent = getpid(), pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        kit_not_run("no socket: %s", strerror(errno));
    pid = fork();
    if (pid < 0)
        kit_not_run("no process: %s", strerror(errno));
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(0);
        close(sockets[0]);
        for (uint32_t i = 0; i < number; i++)
            close(processes[i].socket);
        kit_shared_enter(number + 1);
        sockets[1] = kit_launch_move(sockets[1]);
        if (kit_launched())
            kit_launch_join(number + 1);
        process_main(sockets[1]);
    }
    close(sockets[1]);
    sockets[0] = kit_launch_move(sockets[0]);
    processes[number] = (struct kit_process){.pid = pid, .socket = sockets[0]};
}

void
kit_processes_start(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        process_start(i);
}

bool
kit_process_alive(uint32_t process)
{
    return processes[process].pid != 0;
}

/* Explains the early end of a worker process, which may have left a verdict. */
__attribute__((noreturn)) static void
process_lost(uint32_t number)
{
    int status = 0;

    while (waitpid(processes[number].pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == KIT_EXIT_VERDICT)
        _exit(KIT_EXIT_VERDICT);
    if (WIFSIGNALED(status))
        kit_fail(kit_running->rule, "no crash",
            "the other process died of signal %d (%s)", WTERMSIG(status),
            strsignal(WTERMSIG(status)));
    kit_fail(kit_running->rule, "no crash",
        "the other process ended with status %d", WEXITSTATUS(status));
}

void
kit_process_send(uint32_t number, const struct kit_command *command)
{
    struct kit_process *process = &processes[number];
    /* kit_process_move reads from what it sends. */
    void *packet = (void *) (uintptr_t) command;

    if (process->pid == 0)
        kit_not_run("worker process %u got a command after its end", number);
    if (!kit_process_move(process->socket, packet, sizeof *command, true))
        process_lost(number);
}

bool
kit_process_readable(uint32_t number)
{
    return readable(processes[number].socket, 0);
}

void
kit_process_receive(uint32_t number, struct kit_answer *answer)
{
    if (!kit_process_move(
            processes[number].socket, answer, sizeof *answer, false))
        process_lost(number);
}

void
kit_process_call(uint32_t number, const struct kit_command *command,
    struct kit_answer *answer)
{
    kit_process_send(number, command);
    kit_process_receive(number, answer);
}

static void
process_reap(uint32_t number)
{
    int status;

    while (waitpid(processes[number].pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(processes[number].socket);
    processes[number].pid = 0;
}

/* A launcher ends the job when one of its processes ends. */
static void
refuse_loss(void)
{
    if (kit_launched())
        kit_not_run("a launched process cannot end before the others");
}

void
kit_process_signal(uint32_t number, int signal)
{
    int status;

    if (processes[number].pid == 0)
        kit_not_run("worker process %u has ended", number);
    if (signal == SIGKILL)
        refuse_loss();
    kill(processes[number].pid, signal);
    if (signal == SIGKILL)
        process_reap(number);
    else if (signal == SIGSTOP)
        while (waitpid(processes[number].pid, &status, WUNTRACED) < 0 &&
               errno == EINTR)
            ;
}

void
kit_process_exit(uint32_t number)
{
    static struct kit_command command = {.verb = KIT_EXIT};

    refuse_loss();
    if (!kit_process_move(
            processes[number].socket, &command, sizeof command, true))
        process_lost(number);
    process_reap(number);
}

void
kit_processes_end(void)
{
    for (uint32_t i = 0; i < KIT_PROCESSES; i++) {
        int status;
        bool finished;

        if (processes[i].pid == 0)
            continue;
        finished = has_end_message(processes[i].socket);
        if (finished && kit_launched())
            continue;
        close(processes[i].socket);
        while (waitpid(processes[i].pid, &status, 0) < 0 && errno == EINTR)
            ;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            if (WIFEXITED(status) && WEXITSTATUS(status) == KIT_EXIT_VERDICT)
                _exit(KIT_EXIT_VERDICT);
            kit_fail(kit_running->rule, "a process that ends in order",
                "%s %d of another process",
                WIFSIGNALED(status) ? "signal" : "exit status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        }
        kit_expect(finished, kit_running->rule,
            "a plugin does not end the process",
            "another process ended with exit status 0");
        processes[i].pid = 0;
    }
}

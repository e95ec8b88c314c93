/* SPDX-License-Identifier: BSD-3-Clause */
/* A puppet: obeys its socket, and polls while it has nothing to obey. */
#include "check/puppet.h"

#include "check/board.h"

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

static struct kit_puppet puppets[KIT_PUPPETS];

/* The socket is a stream, so that packets have no largest size. */
static bool
move_all(int fd, void *bytes, size_t length, bool out)
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

/* What the act of a KIT_ACT works on until KIT_JOIN fetches it. */
static unsigned char act_bytes[KIT_TEXT_MAX];

static bool
readable(int fd, int timeout_ms)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};

    return poll(&wanted, 1, timeout_ms) > 0;
}

/* An act begins when it has been answered; its end is what KIT_JOIN waits for,
 * being read only afterwards. */
static void
act(int fd, struct kit_player *player, const struct kit_command *command,
    struct kit_answer *answer)
{
    memcpy(act_bytes, command->bytes, sizeof act_bytes);
    if (!move_all(fd, answer, sizeof *answer, true))
        _exit(0);
    command->act(player->cls, act_bytes);
}

static void
obey(int fd, struct kit_player *player, const struct kit_command *command,
    struct kit_answer *answer)
{
    memset(answer, 0, offsetof(struct kit_answer, bytes));
    switch (command->verb) {
    case KIT_ACT:
        act(fd, player, command, answer);
        return;
    case KIT_JOIN:
        memcpy(answer->bytes, act_bytes, sizeof act_bytes);
        answer->length = sizeof act_bytes;
        break;
    case KIT_EXIT:
        _exit(0);
    default:
        kit_play(player, command, answer);
        break;
    }
    if (!move_all(fd, answer, sizeof *answer, true))
        _exit(0);
}

/* What a puppet says last, when it is not needed any more. */
static const unsigned char farewell[] = "a puppet that ends in order";

__attribute__((noreturn)) static void
puppet_main(int fd)
{
    static struct kit_command command;
    static struct kit_answer answer;
    struct kit_player player = {.cls = NULL};

    for (;;) {
        bool polls = player.cls && player.cls->polls;

        while (!readable(fd, polls ? 0 : -1))
            if (polls && kit_class_progress(player.cls) == 0)
                sched_yield();
        if (!move_all(fd, &command, sizeof command, false))
            break;
        /* What came meanwhile is seen when one looks. */
        if (command.verb == KIT_LOOK && polls)
            kit_class_progress(player.cls);
        obey(fd, &player, &command, &answer);
    }
    memcpy(act_bytes, farewell, sizeof farewell);
    move_all(fd, act_bytes, sizeof farewell, true);
    exit(0);
}

/* Whether a puppet that is told nothing any more says its last words; what it
 * may have to say before is passed over. */
static bool
says_farewell(int fd)
{
    unsigned char bytes[4096], last[sizeof farewell] = "";
    ssize_t n;

    shutdown(fd, SHUT_WR);
    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0 ||
           (n < 0 && errno == EINTR)) {
        size_t got = n > 0 ? (size_t) n : 0;
        size_t keep = got < sizeof last ? sizeof last - got : 0;

        memmove(last, last + sizeof last - keep, keep);
        memcpy(last + keep, bytes + got - (sizeof last - keep),
            sizeof last - keep);
    }
    return memcmp(last, farewell, sizeof farewell) == 0;
}

static void
puppet_start(uint32_t number)
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
            close(puppets[i].socket);
        kit_board_sit(number + 1);
        puppet_main(sockets[1]);
    }
    close(sockets[1]);
    puppets[number] = (struct kit_puppet){.pid = pid, .socket = sockets[0]};
}

void
kit_puppets_start(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        puppet_start(i);
}

bool
kit_puppet_lives(uint32_t puppet)
{
    return puppets[puppet].pid != 0;
}

/* How a puppet ended that should not have: it may have left a verdict. */
__attribute__((noreturn)) static void
puppet_lost(uint32_t number)
{
    int status = 0;

    while (waitpid(puppets[number].pid, &status, 0) < 0 && errno == EINTR)
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
kit_puppet_tell(uint32_t number, const struct kit_command *command)
{
    struct kit_puppet *puppet = &puppets[number];
    /* move_all reads from what it sends. */
    void *packet = (void *) (uintptr_t) command;

    if (puppet->pid == 0)
        kit_not_run("puppet %u is asked and gone", number);
    if (!move_all(puppet->socket, packet, sizeof *command, true))
        puppet_lost(number);
}

bool
kit_puppet_heard(uint32_t number)
{
    return readable(puppets[number].socket, 0);
}

void
kit_puppet_hear(uint32_t number, struct kit_answer *answer)
{
    if (!move_all(puppets[number].socket, answer, sizeof *answer, false))
        puppet_lost(number);
}

void
kit_puppet_ask(uint32_t number, const struct kit_command *command,
    struct kit_answer *answer)
{
    kit_puppet_tell(number, command);
    kit_puppet_hear(number, answer);
}

static void
puppet_reap(uint32_t number)
{
    int status;

    while (waitpid(puppets[number].pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(puppets[number].socket);
    puppets[number].pid = 0;
}

void
kit_puppet_signal(uint32_t number, int signal)
{
    int status;

    if (puppets[number].pid == 0)
        kit_not_run("puppet %u is gone", number);
    kill(puppets[number].pid, signal);
    if (signal == SIGKILL)
        puppet_reap(number);
    else if (signal == SIGSTOP)
        while (waitpid(puppets[number].pid, &status, WUNTRACED) < 0 &&
               errno == EINTR)
            ;
}

void
kit_puppet_exit(uint32_t number)
{
    static struct kit_command command = {.verb = KIT_EXIT};

    if (!move_all(puppets[number].socket, &command, sizeof command, true))
        puppet_lost(number);
    puppet_reap(number);
}

void
kit_puppets_end(void)
{
    for (uint32_t i = 0; i < KIT_PUPPETS; i++) {
        int status;
        bool said;

        if (puppets[i].pid == 0)
            continue;
        said = says_farewell(puppets[i].socket);
        close(puppets[i].socket);
        while (waitpid(puppets[i].pid, &status, 0) < 0 && errno == EINTR)
            ;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            if (WIFEXITED(status) && WEXITSTATUS(status) == KIT_EXIT_VERDICT)
                _exit(KIT_EXIT_VERDICT);
            kit_fail(kit_running->rule, "a process that ends in order",
                "%s %d of another process",
                WIFSIGNALED(status) ? "signal" : "exit status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        }
        kit_expect(said, kit_running->rule, "a plugin does not end the process",
            "another process ended with exit status 0");
        puppets[i].pid = 0;
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes environment and descriptors of launched processes to the processes of
 * a case: these are all that a launcher gives to a process. */
#include "check/launch.h"

#include "check/class.h"
#include "check/process.h"
#include "check/shared.h"
#include "check/target.h"
#include "common/tool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define FDS 64U             /* descriptors of a process, at most */
#define FD_MOVED 300        /* above the descriptors of launched processes */
#define TEXT_MAX (1U << 20) /* bytes of an environment, at most */
#define START_S 30          /* for each process to start */

/* The first message of a launched process; its environment follows. */
struct offer {
    uint32_t length; /* of the environment, zeros included */
    uint32_t count;  /* of descriptors */
    int numbers[FDS];
};

struct loan {
    int socket; /* closed when the case has ended */
    struct offer offer;
    int fds[FDS];
    char *text;
};

static struct loan loans[KIT_PROCESSES + 1];

bool
kit_launched(void)
{
    return kit_target.launcher != NULL;
}

int
kit_launch_move(int fd)
{
    int moved = kit_launched() ? fcntl(fd, F_DUPFD_CLOEXEC, FD_MOVED) : -1;

    if (moved < 0)
        return fd;
    close(fd);
    return moved;
}

/* Sets an abstract socket name. */
static socklen_t
name_socket(struct sockaddr_un *address, const char *name)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "%s", name);
    return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 +
                        strlen(address->sun_path + 1));
}

/* Room for the descriptors of a message. */
union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(FDS * sizeof(int))];
};

static bool
receive_offer(struct loan *loan)
{
    union control control;
    struct iovec vec = {&loan->offer, sizeof loan->offer};
    struct msghdr message = {.msg_iov = &vec,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof control};
    struct cmsghdr *head;
    uint32_t count = 0;

    if (recvmsg(loan->socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL) !=
        (ssize_t) sizeof loan->offer)
        return false;
    head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_type == SCM_RIGHTS) {
        count = (uint32_t) ((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(loan->fds, CMSG_DATA(head), count * sizeof(int));
    }
    for (uint32_t i = 0; i < count; i++)
        loan->fds[i] = kit_launch_move(loan->fds[i]);
    if (count != loan->offer.count || loan->offer.length > TEXT_MAX)
        return false;
    loan->text = malloc(loan->offer.length + 1);
    return loan->text && kit_process_move(loan->socket, loan->text,
                             loan->offer.length, false);
}

__attribute__((noreturn)) static void
run_launcher(uint32_t count, const char *name, pid_t parent)
{
    char self[4096], *line;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    /* In a group of its own, so that it ends by SIGTERM, not by SIGKILL. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || length < 0)
        _exit(1);
    self[length] = '\0';
    if (asprintf(&line, "exec %s -n %u '%s' check --lend %s",
            kit_target.launcher, (unsigned) count, self, name) > 0)
        execl("/bin/sh", "sh", "-c", line, (char *) NULL);
    _exit(1);
}

/* Listens for the launched processes. */
static int
listen_at(const char *name)
{
    struct sockaddr_un address;
    socklen_t length = name_socket(&address, name);
    int fd = kit_launch_move(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));

    if (bind(fd, (struct sockaddr *) &address, length) != 0 ||
        listen(fd, KIT_PROCESSES + 1) != 0)
        kit_not_run("no socket for a launcher: %s", strerror(errno));
    return fd;
}

/* Whether the other end of a connection is a process of this user: any user of
 * the machine can read the names of abstract sockets, and what is passed on here
 * decides what a process loads. */
static bool
is_own_user(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           peer.uid == geteuid();
}

/* Accepts a connection. -1: none is pending, or it is another user's. */
static int
accept_own(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0 || is_own_user(fd))
        return fd < 0 ? -1 : kit_launch_move(fd);
    close(fd);
    return -1;
}

/* Accepts the next launched process. -1: the launcher has ended, or timeout. */
static int
accept_next(int listener, pid_t launcher)
{
    struct pollfd wanted = {.fd = listener, .events = POLLIN};

    for (uint32_t i = 0; i < START_S * 10; i++) {
        bool over = waitpid(launcher, NULL, WNOHANG) == launcher;

        if (poll(&wanted, 1, over ? 0 : 100) > 0) {
            int fd = accept_own(listener);

            if (fd >= 0)
                return fd;
        }
        if (over)
            break;
    }
    return -1;
}

void
kit_launch(uint32_t count)
{
    char name[64];
    uint64_t number = 0;
    pid_t self = getpid(), pid;
    int listener;

    if (getrandom(&number, sizeof number, 0) < 0)
        kit_not_run("no random number: %s", strerror(errno));
    snprintf(name, sizeof name, "talaria-check-%d-%016jx", (int) self,
        (uintmax_t) number);
    listener = listen_at(name);
    pid = fork();
    if (pid == 0)
        run_launcher(count + 1, name, self);
    for (uint32_t i = 0; i <= count; i++) {
        loans[i].socket = pid > 0 ? accept_next(listener, pid) : -1;
        if (loans[i].socket < 0 || !receive_offer(&loans[i]))
            kit_not_run("\"%s\" does not start %u processes",
                kit_target.launcher, (unsigned) count + 1);
    }
    close(listener);
}

void
kit_launch_join(uint32_t number)
{
    const struct kit_open_options usual = {.no_contexts = true};
    struct loan *loan = &loans[number];
    struct offer *offer = &loan->offer;

    for (uint32_t i = 0; i < offer->count; i++)
        dup2(loan->fds[i], offer->numbers[i]);
    loan->text[offer->length] = '\0';
    for (char *at = loan->text; at < loan->text + offer->length;
         at += strlen(at) + 1)
        putenv(at);
    kit_class_close(kit_class_open(&usual, 0));
}

/* Lists the descriptors to pass on. Returns their number. */
static uint32_t
list_descriptors(int own, int numbers[FDS])
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    uint32_t count = 0;

    while (folder && (entry = readdir(folder)) != NULL) {
        int number = atoi(entry->d_name);

        if (number > STDERR_FILENO && number != own &&
            number != dirfd(folder) && count < FDS)
            numbers[count++] = number;
    }
    if (folder)
        closedir(folder);
    return count;
}

static bool
send_offer(int fd, const struct offer *offer)
{
    union control control = {.bytes = {0}};
    struct iovec vec = {(void *) (uintptr_t) offer, sizeof *offer};
    struct msghdr message = {.msg_iov = &vec, .msg_iovlen = 1};
    struct cmsghdr *head = &control.align;

    if (offer->count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(offer->count * sizeof(int));
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(offer->count * sizeof(int));
        memcpy(CMSG_DATA(head), offer->numbers, offer->count * sizeof(int));
    }
    if (sendmsg(fd, &message, MSG_NOSIGNAL) != (ssize_t) sizeof *offer)
        return false;
    for (char **at = environ; *at; at++)
        if (!kit_process_move(fd, *at, strlen(*at) + 1, true))
            return false;
    return true;
}

int
kit_launch_lend(const char *name)
{
    struct offer offer = {.length = 0};
    struct sockaddr_un address;
    char end;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    for (char **at = environ; *at; at++)
        offer.length += (uint32_t) strlen(*at) + 1;
    offer.count = list_descriptors(fd, offer.numbers);
    if (fd < 0 ||
        connect(fd, (struct sockaddr *) &address,
            name_socket(&address, name)) != 0 ||
        !is_own_user(fd) || !send_offer(fd, &offer)) {
        perror("talaria check --lend");
        return TOOL_FAILED;
    }
    while (read(fd, &end, 1) < 0 && errno == EINTR)
        ;
    return TOOL_OK;
}

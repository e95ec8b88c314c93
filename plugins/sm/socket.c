/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets and processes: what this plugin asks of the kernel to find a peer and
 * to know that it lives. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "socket.h"

#ifndef SO_PEERPIDFD /* since Linux 6.5 */
#define SO_PEERPIDFD 77
#endif

#define PATH_PREFIX "talaria-sm/"
#define BACKLOG 4096

/* The abstract address of a name: a zero byte first, no zero at the end. */
static socklen_t
abstract(struct sockaddr_un *address, const char *name)
{
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    int length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
        "%s%s", PATH_PREFIX, name);
    return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 +
                        (size_t) length);
}

/* Makes a socket, and binds or connects it to a name. *fd_p; 0, or an errno. */
static int
make_socket(const char *name,
    int (*use)(int, const struct sockaddr *, socklen_t), int *fd_p)
{
    struct sockaddr_un address;
    socklen_t length = abstract(&address, name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return errno;
    if (use(fd, (struct sockaddr *) &address, length) != 0) {
        int error = errno;
        close(fd);
        return error;
    }
    *fd_p = fd;
    return 0;
}

int
sm_socket_bind(const char *name, bool listens, int *fd_p)
{
    int fd = -1;
    int error = make_socket(name, bind, &fd);

    if (error == 0 && listens && listen(fd, BACKLOG) != 0) {
        error = errno;
        close(fd);
    }
    if (error == 0)
        *fd_p = fd;
    return error;
}

int
sm_socket_connect(const char *name, int *fd_p)
{
    return make_socket(name, connect, fd_p);
}

int
sm_socket_accept(int listener, int *fd_p)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return errno;
    *fd_p = fd;
    return 0;
}

void
sm_socket_close(int fd)
{
    if (fd < 0)
        return;
    shutdown(fd, SHUT_RDWR);
    close(fd);
}

int
sm_socket_process(int fd, struct sm_process *process_p)
{
    struct ucred cred;
    socklen_t length = sizeof(cred);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &length) != 0)
        return errno;

    struct sm_process process = {.pid = cred.pid, .uid = cred.uid, .pidfd = -1};
    int pidfd = -1;
    length = sizeof(pidfd);
    if (cred.pid <= 0) {
        process.pid = 0;
    } else if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length) == 0) {
        process.pidfd = pidfd;
    } else {
        process.pidfd = (int) syscall(SYS_pidfd_open, cred.pid, 0);
        if (process.pidfd < 0 && (errno == EMFILE || errno == ENFILE))
            return errno;
        process.dead = process.pidfd < 0 && errno == ESRCH;
    }
    if (process.pidfd >= 0)
        process.dead = sm_socket_process_ended(process.pidfd);
    *process_p = process;
    return 0;
}

bool
sm_socket_process_ended(int pidfd)
{
    struct pollfd entry = {.fd = pidfd, .events = POLLIN};
    return poll(&entry, 1, 0) > 0;
}

bool
sm_socket_ended(int fd)
{
    struct pollfd entry = {.fd = fd, .events = POLLRDHUP};
    return poll(&entry, 1, 0) > 0;
}

/* The number that a process has in its own namespace, 0 if that is not to be
 * learned: the last one of the line NSpid. */
static uint32_t
own_number(pid_t pid)
{
    char path[64];
    char line[256];
    uint32_t number = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int) pid);

    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "NSpid:", 6) != 0)
            continue;
        char *last = strrchr(line, '\t');
        if (last != NULL)
            number = (uint32_t) strtoul(last, NULL, 10);
        break;
    }
    fclose(file);
    return number;
}

bool
sm_socket_name_plausible(const struct sm_process *process, uint32_t claimed)
{
    if (claimed == 0)
        return false;
    if (process->pid == 0)
        return process->uid == geteuid();
    return claimed == (uint32_t) process->pid ||
           claimed == own_number(process->pid);
}

void
sm_socket_wake(int fd)
{
    /* a full socket is readable already, a closed one tells its owner so */
    ssize_t sent = send(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void) sent;
}

int
sm_socket_pass(int fd, const void *packet, size_t length, const int *passed,
    uint32_t count)
{
    struct iovec iov = {
        .iov_base = (void *) (uintptr_t) packet, .iov_len = length};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(SM_SOCKET_PASSED * sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (count != 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(rights), passed, count * sizeof(int));
    }

    ssize_t sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent == (ssize_t) length)
        return 0;
    return sent < 0 ? errno : EPROTO;
}

/* Takes the first wanted descriptors that a packet has brought, and closes the
 * others. */
static void
take_descriptors(struct msghdr *message, int *passed, uint32_t wanted)
{
    uint32_t taken = 0;

    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL;
         part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
            if (taken < wanted)
                passed[taken++] = fd;
            else
                close(fd);
        }
    }
}

int
sm_socket_next(int fd, void *packet, size_t room, int *passed, uint32_t wanted)
{
    struct iovec iov = {.iov_base = packet, .iov_len = room};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(SM_SOCKET_PASSED * sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    /* the kernel drops those for which there is no room here */
    if (wanted != 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_LEN(wanted * sizeof(int));
    }
    for (uint32_t i = 0; i < wanted; i++)
        passed[i] = -1;

    /* a reset is told first, once; what was sent before it is behind it */
    ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == ECONNRESET)
        got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    take_descriptors(&message, passed, wanted);
    if (got == 0) {
        sm_socket_close_passed(passed, wanted);
        return -1;
    }
    return (int) got;
}

void
sm_socket_close_passed(const int *passed, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (passed[i] >= 0)
            close(passed[i]);
}

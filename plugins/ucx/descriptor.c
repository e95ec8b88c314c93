/* SPDX-License-Identifier: BSD-3-Clause */
/* Which descriptors are UCX's: what has appeared while it was opened, and
 * sockets with its options, or with a port that belongs to it. */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/descriptor.h"
#include "common/host.h"
#include "common/system.h"
#include "descriptor.h"

/* UCX's defaults for its sockets, seconds. */
#define KEEP_IDLE 10
#define KEEP_INTERVAL 2
#define LOOKS 64U /* at descriptors that UCX's opening some is worth */

static _Atomic uint64_t ports[(UINT16_MAX + 1) / 64]; /* UCX's, a bit each */
static _Atomic uint32_t looked_at; /* descriptors, the last time */
static _Atomic uint32_t earned;    /* looks since then */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Whether a descriptor is of a kind that UCX opens when it starts. */
static bool
kind_of_ucx(int fd)
{
    static const char *const kinds[] = {"pipe:", "anon_inode:[eventpoll]",
        "anon_inode:[eventfd]", "anon_inode:[timerfd]", "socket:", "/dev/null",
        "/dev/infiniband/", "/dev/shm/"};
    char name[64];

    if (tp_descriptor_name(fd, name, sizeof(name)) == 0)
        return false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strncmp(name, kinds[i], strlen(kinds[i])) == 0)
            return true;
    return false;
}

void
ucx_descriptor_own_port(uint32_t port)
{
    if (port != 0 && port <= UINT16_MAX)
        atomic_fetch_or_explicit(
            &ports[port / 64], UINT64_C(1) << port % 64, memory_order_relaxed);
}

static bool
is_option(int fd, int level, int option, int value)
{
    int set = 0;
    socklen_t length = sizeof(set);

    return getsockopt(fd, level, option, &set, &length) == 0 && set == value;
}

/* The same of a time, which the kernel may have rounded down. */
static bool
is_time(int fd, int option, int seconds)
{
    return is_option(fd, IPPROTO_TCP, option, seconds) ||
           is_option(fd, IPPROTO_TCP, option, seconds - 1);
}

/* The port at one end of a socket, 0 if it has none. */
static uint32_t
port_of(int (*ask)(int, struct sockaddr *, socklen_t *), int fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);

    if (ask(fd, (struct sockaddr *) &address, &length) != 0 ||
        (address.ss_family != AF_INET && address.ss_family != AF_INET6))
        return 0;
    return tp_host_port(&address);
}

static bool
is_own_port(uint32_t port)
{
    return port != 0 &&
           (atomic_load_explicit(&ports[port / 64], memory_order_relaxed) >>
                   port % 64 &
               1) != 0;
}

/* Whether a descriptor is a socket of UCX's. Only system calls: a child asks
 * too. */
static bool
is_ours(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || (flags & O_NONBLOCK) == 0 ||
        !is_option(fd, SOL_SOCKET, SO_TYPE, SOCK_STREAM))
        return false;
    return (is_time(fd, TCP_KEEPIDLE, KEEP_IDLE) &&
               is_time(fd, TCP_KEEPINTVL, KEEP_INTERVAL)) ||
           is_own_port(port_of(getsockname, fd)) ||
           is_own_port(port_of(getpeername, fd));
}

static void
close_ours(int fd, void *arg)
{
    if (is_ours(fd))
        close(fd);
}

static void
in_child(void)
{
    tp_descriptors_each(close_ours, NULL);
}

static void
watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

static void
mark_new(int fd, void *arg)
{
    if (!kind_of_ucx(fd))
        return;
    tp_close_on_exec(fd);
    if (is_option(fd, SOL_SOCKET, SO_ACCEPTCONN, 1))
        ucx_descriptor_own_port(port_of(getsockname, fd));
}

void
ucx_descriptor_mark(const struct tp_descriptors *before)
{
    pthread_once(&once, watch_forks);
    if (before != NULL)
        tp_descriptors_each_new(before, mark_new, NULL);
}

/* Whether it is the timer by which UCX looks after peers in shared memory. */
static bool
is_keepalive(int fd)
{
    struct itimerspec time;

    return timerfd_gettime(fd, &time) == 0 &&
           time.it_interval.tv_sec == UCX_KEEPALIVE_S &&
           time.it_interval.tv_nsec == 0;
}

static void
mark_socket(int fd, void *arg)
{
    uint32_t *count = arg;
    int flags = fcntl(fd, F_GETFD);

    ++*count;
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0 &&
        (is_ours(fd) || is_keepalive(fd)))
        tp_close_on_exec(fd);
}

void
ucx_descriptor_mark_sockets(void)
{
    uint32_t count = 0;

    atomic_store_explicit(&earned, 0, memory_order_relaxed);
    tp_descriptors_each(mark_socket, &count);
    atomic_store_explicit(&looked_at, count, memory_order_relaxed);
}

bool
ucx_descriptor_mark_some(void)
{
    uint32_t looks =
        atomic_fetch_add_explicit(&earned, LOOKS, memory_order_relaxed) + LOOKS;

    if (looks < atomic_load_explicit(&looked_at, memory_order_relaxed))
        return false;
    ucx_descriptor_mark_sockets();
    return true;
}

struct each {
    void (*call)(int fd, void *arg);
    void *arg;
};

static void
call_ours(int fd, void *arg)
{
    const struct each *each = arg;

    if (is_ours(fd))
        each->call(fd, each->arg);
}

void
ucx_descriptor_each(void (*call)(int fd, void *arg), void *arg)
{
    struct each each = {call, arg};

    tp_descriptors_each(call_ours, &each);
}

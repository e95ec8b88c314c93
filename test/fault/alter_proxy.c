/* SPDX-License-Identifier: BSD-3-Clause */
/* The proxy, and connect() of a process that uses it. */
#include "alter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAIRS 256U
#define CHUNK 65536U

/* The proxy's connections to both sides. */
struct pair {
    int client, server;
    struct alter_stream stream;
};

static struct pair pairs[PAIRS];
static unsigned pair_count;

/* CONNECTING PROCESS */

static struct alter *redirected;
static uint32_t redirected_by;

static bool
is_local(const struct sockaddr *address, socklen_t length)
{
    const struct sockaddr_in *in = (const void *) address;

    return length >= sizeof *in && address->sa_family == AF_INET &&
           ntohl(in->sin_addr.s_addr) >> 24 == 127;
}

/* Replaces the C library's connect, also for the plugin's library. Declared
 * under another name, since the header's declaration has another type. */
int alter_connect(int fd, const struct sockaddr *address,
    socklen_t length) __asm__("connect");

int
alter_connect(int fd, const struct sockaddr *address, socklen_t length)
{
    struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof in;
    long ret;
    int error;

    if (!redirected || !is_local(address, length))
        return (int) syscall(SYS_connect, fd, address, length);
    in.sin_port = (in_port_t) atomic_load(&redirected->port);
    ret = syscall(SYS_connect, fd, &in, size);
    error = errno;
    if ((ret == 0 || error == EINPROGRESS) &&
        getsockname(fd, (struct sockaddr *) &in, &size) == 0)
        atomic_store(&redirected->to[in.sin_port],
            ((const struct sockaddr_in *) (const void *) address)->sin_port |
                redirected_by);
    errno = error;
    return (int) ret;
}

void
alter_connections(struct alter *alter, bool is_server)
{
    redirected = alter;
    redirected_by = is_server ? ALTER_SERVER : 0;
}

/* THE PROXY */

static int
listen_anywhere(struct alter *alter)
{
    struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof in;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *) &in, size) != 0 ||
        listen(fd, 64) != 0 ||
        getsockname(fd, (struct sockaddr *) &in, &size) != 0)
        abort();
    atomic_store(&alter->port, in.sin_port);
    return fd;
}

/* Destination of an accepted connection, which its opener publishes right after
 * connect. 0: the opener has died. */
static uint32_t
destination(struct alter *alter, in_port_t from)
{
    uint32_t to = 0;

    for (unsigned i = 0; i < 2000 && to == 0; i++) {
        to = atomic_exchange(&alter->to[from], 0);
        if (to == 0)
            usleep(1000);
    }
    return to;
}

/* Opens the second half of an accepted connection; -1: nothing listens
 * there. */
static int
connect_on(uint32_t to)
{
    const struct sockaddr_in in = {.sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = (in_port_t) to};
    int fd = to != 0 && pair_count < PAIRS
                 ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)
                 : -1;

    if (fd >= 0 && syscall(SYS_connect, fd, &in, sizeof in) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void
accept_one(struct alter *alter, int listener)
{
    struct sockaddr_in in = {0};
    socklen_t size = sizeof in;
    int one = 1;
    int from = accept4(listener, (struct sockaddr *) &in, &size, SOCK_CLOEXEC);
    uint32_t to = from < 0 ? 0 : destination(alter, in.sin_port);
    int on = connect_on(to);
    struct pair pair = {.client = from, .server = on};

    if (on < 0) {
        if (from >= 0)
            close(from);
        return;
    }
    if (to & ALTER_SERVER) {
        pair.client = on;
        pair.server = from;
    }
    setsockopt(from, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(on, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    pairs[pair_count++] = pair;
}

static bool
write_all(int fd, const unsigned char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t count = send(fd, bytes, size, MSG_NOSIGNAL);

        if (count <= 0)
            return false;
        bytes += count;
        size -= (size_t) count;
    }
    return true;
}

/* Forwards available bytes in one direction; false: connection closed. */
static bool
relay(struct alter *alter, struct pair *pair, bool sent)
{
    static unsigned char bytes[CHUNK];
    ssize_t size = recv(sent ? pair->client : pair->server, bytes, CHUNK, 0);

    if (size <= 0)
        return false;
    if (sent)
        alter_sent(alter, &pair->stream, bytes, (size_t) size);
    else
        alter_heard(alter, &pair->stream, bytes, (size_t) size);
    return write_all(sent ? pair->server : pair->client, bytes, (size_t) size);
}

static bool
relay_both(struct alter *alter, struct pair *pair, const struct pollfd fds[2])
{
    return (fds[0].revents == 0 || relay(alter, pair, true)) &&
           (fds[1].revents == 0 || relay(alter, pair, false));
}

static void
hang_up(struct pair *pair)
{
    close(pair->client);
    close(pair->server);
    *pair = pairs[--pair_count];
}

void
alter_proxy_run(void *arg)
{
    struct alter *alter = arg;
    struct pollfd fds[1 + 2 * PAIRS];
    int listener = listen_anywhere(alter);

    for (;;) {
        fds[0] = (struct pollfd){.fd = listener, .events = POLLIN};
        for (unsigned i = 0; i < pair_count; i++) {
            fds[1 + 2 * i] =
                (struct pollfd){.fd = pairs[i].client, .events = POLLIN};
            fds[2 + 2 * i] =
                (struct pollfd){.fd = pairs[i].server, .events = POLLIN};
        }
        if (poll(fds, 1 + 2 * pair_count, -1) < 0)
            abort();
        for (unsigned i = pair_count; i-- > 0;)
            if (!relay_both(alter, &pairs[i], &fds[1 + 2 * i]))
                hang_up(&pairs[i]);
        if (fds[0].revents != 0)
            accept_one(alter, listener);
    }
}

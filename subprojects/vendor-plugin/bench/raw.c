/* SPDX-License-Identifier: BSD-3-Clause */
/* What the transport is compared with: round trips between two processes over a
 * TCP connection with non-blocking sockets, and nothing else.
 *
 *     raw [BYTES [ROUND_TRIPS]]
 *
 * prints the nanoseconds of one round trip. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void
fail(const char *what)
{
    perror(what);
    exit(1);
}

static void
send_all(int fd, const char *bytes, size_t length)
{
    for (size_t sent = 0; sent < length;) {
        ssize_t n = send(fd, bytes + sent, length - sent, MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN)
            fail("send");
        sent += n > 0 ? (size_t) n : 0;
    }
}

static void
recv_all(int fd, char *bytes, size_t length)
{
    for (size_t got = 0; got < length;) {
        ssize_t n = recv(fd, bytes + got, length - got, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            fail("recv");
        got += n > 0 ? (size_t) n : 0;
    }
}

static void
no_delay(int fd)
{
    int on = 1;

    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
        fail("TCP_NODELAY");
}

static void
echo(const struct sockaddr_in *address, char *bytes, size_t length, long count)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (connect(fd, (const struct sockaddr *) address, sizeof(*address)) != 0)
        fail("connect");
    no_delay(fd);
    for (long i = 0; i < count; i++) {
        recv_all(fd, bytes, length);
        send_all(fd, bytes, length);
    }
    exit(0);
}

int
main(int argc, char **argv)
{
    long length = argc > 1 ? atol(argv[1]) : 64;
    long count = argc > 2 ? atol(argv[2]) : 100000;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    struct timespec begin, end;

    char *bytes = calloc(1, length > 0 ? (size_t) length : 1);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bytes == NULL || length <= 0 || count <= 0 ||
        bind(listener, (struct sockaddr *) &address, size) != 0 ||
        listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *) &address, &size) != 0)
        fail("usage: raw [BYTES [ROUND_TRIPS]]");
    pid_t child = fork();
    if (child == 0)
        echo(&address, bytes, (size_t) length, count);
    int fd = accept(listener, NULL, NULL);
    if (child < 0 || fd < 0)
        fail("accept");
    no_delay(fd);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long i = 0; i < count; i++) {
        send_all(fd, bytes, (size_t) length);
        recv_all(fd, bytes, (size_t) length);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    waitpid(child, NULL, 0);
    printf("%.0f\n", ((double) (end.tv_sec - begin.tv_sec) * 1e9 +
                         (double) (end.tv_nsec - begin.tv_nsec)) /
                         (double) count);
    return 0;
}

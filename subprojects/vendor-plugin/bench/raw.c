/* SPDX-License-Identifier: BSD-3-Clause */
/* A baseline for the transport: round trips between two processes over one TCP
 * connection with non-blocking sockets.
 *
 *     raw [BYTES [ROUND_TRIPS [PROCESSOR PROCESSOR]]]
 *
 * prints the median time of a round trip in nanoseconds. To build it:
 *
 *     cc -O2 -o raw bench/raw.c */
#define _GNU_SOURCE /* CPU_SET */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Prints errno and exits. */
static void
fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Sends all bytes, polling the socket. */
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

/* Receives length bytes, polling the socket. */
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
set_no_delay(int fd)
{
    int on = 1;

    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
        fail("TCP_NODELAY");
}

/* Pins this process to the processor in an argument, if that is given. */
static void
pin(int argc, char **argv, int which)
{
    cpu_set_t set;

    if (argc <= which)
        return;
    CPU_ZERO(&set);
    CPU_SET(atoi(argv[which]), &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0)
        fail("sched_setaffinity");
}

static int
compare(const void *a, const void *b)
{
    double first = *(const double *) a, second = *(const double *) b;

    return first < second ? -1 : first > second;
}

/* Returns the time in nanoseconds. */
static double
now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec * 1e9 + (double) time.tv_nsec;
}

/* The child: connects, returns each message and exits. */
static void
echo(const struct sockaddr_in *address, char *bytes, size_t length, long count)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (connect(fd, (const struct sockaddr *) address, sizeof(*address)) != 0)
        fail("connect");
    set_no_delay(fd);
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

    char *bytes = calloc(1, length > 0 ? (size_t) length : 1);
    double *times = calloc(count > 0 ? (size_t) count : 1, sizeof(*times));
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bytes == NULL || times == NULL || length <= 0 || count <= 0 ||
        bind(listener, (struct sockaddr *) &address, size) != 0 ||
        listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *) &address, &size) != 0)
        fail("usage: raw [BYTES [ROUND_TRIPS [PROCESSOR PROCESSOR]]]");
    pid_t child = fork();
    pin(argc, argv, child == 0 ? 3 : 4);
    if (child == 0)
        echo(&address, bytes, (size_t) length, count);
    int fd = accept(listener, NULL, NULL);
    if (child < 0 || fd < 0)
        fail("accept");
    set_no_delay(fd);
    for (long i = 0; i < count; i++) {
        double begin = now();
        send_all(fd, bytes, (size_t) length);
        recv_all(fd, bytes, (size_t) length);
        times[i] = now() - begin;
    }
    waitpid(child, NULL, 0);
    qsort(times, (size_t) count, sizeof(*times), compare);
    printf("%.0f\n", times[count / 2]);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Which descriptors are marked and closed in a child, and the cost of scanning:
 * the plugin's file, without UCX. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check.h>

#include "descriptor.h"
#include "runner.h"

#define MANY 600

/* A socket with the options that UCX sets. */
static int
like_ucx(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int idle = 10;
    int interval = 2;

    ck_assert_int_ge(fd, 0);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    return fd;
}

static bool
is_marked(int fd)
{
    return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

/* An ordinary listening socket, and its port. */
static int
listener(uint32_t *port_p)
{
    struct sockaddr_in where = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(where);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    ck_assert_int_eq(bind(fd, (struct sockaddr *) &where, length), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *) &where, &length), 0);
    *port_p = ntohs(where.sin_port);
    return fd;
}

START_TEST(descriptor_marks_those_of_ucx_only)
{
    const struct itimerspec second = {.it_interval = {.tv_sec = 1}};
    const struct itimerspec other = {.it_interval = {.tv_sec = 3}};
    uint32_t port, foreign_port;
    int own[] = {
        like_ucx(), listener(&port), timerfd_create(CLOCK_MONOTONIC, 0)};
    int foreign[] = {socket(AF_INET, SOCK_STREAM, 0), listener(&foreign_port),
        timerfd_create(CLOCK_MONOTONIC, 0), open("/dev/null", O_RDONLY)};

    timerfd_settime(own[2], 0, &second, NULL);
    timerfd_settime(foreign[2], 0, &other, NULL);
    ucx_descriptor_own_port(port);
    ck_assert(ucx_descriptor_mark_some());
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        ck_assert_msg(is_marked(own[i]), "%zu", i);
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        ck_assert_msg(!is_marked(foreign[i]), "%zu", i);
}
END_TEST

/* With few descriptors each time, with many now and then; the total of scanned
 * descriptors stays proportional to the connections. */
START_TEST(descriptor_scans_grow_no_faster_than_connections)
{
    static int fds[MANY];
    uint32_t done = 0;

    for (uint32_t i = 0; i < MANY; i++) {
        fds[i] = like_ucx();
        if (ucx_descriptor_mark_some()) {
            done++;
            ck_assert(is_marked(fds[i]));
        }
        if (i < 40)
            ck_assert_uint_eq(done, i + 1);
    }
    /* 64 for each: all up to 64, then the harmonic series */
    ck_assert_uint_le(done, 64 + 64 * 3);
    ck_assert_uint_ge(done, 64);
    for (uint32_t i = 0; i < 100 && !ucx_descriptor_mark_some(); i++)
        ck_assert_uint_lt(i, MANY / 64 + 1);
    for (uint32_t i = 0; i < MANY; i++)
        ck_assert(is_marked(fds[i]));
}
END_TEST

/* Including those opened since the last scan. */
START_TEST(descriptor_of_ucx_is_closed_in_a_child)
{
    static int fds[MANY];
    int status;
    int foreign = socket(AF_INET, SOCK_STREAM, 0);

    ucx_descriptor_mark(NULL);
    for (uint32_t i = 0; i < MANY; i++) {
        fds[i] = like_ucx();
        ucx_descriptor_mark_some();
    }
    pid_t pid = fork();
    if (pid == 0) {
        for (uint32_t i = 0; i < MANY; i++)
            if (fcntl(fds[i], F_GETFD) >= 0)
                _exit(1);
        _exit(fcntl(foreign, F_GETFD) >= 0 ? 0 : 2);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_ge(fcntl(fds[0], F_GETFD), 0);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, descriptor_marks_those_of_ucx_only);
    tcase_add_test(tcase, descriptor_scans_grow_no_faster_than_connections);
    tcase_add_test(tcase, descriptor_of_ucx_is_closed_in_a_child);
    return run_tcase("ucx descriptor", tcase);
}

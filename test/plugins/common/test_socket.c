/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets, and what a forked child has of them. */
#include "common/socket.h"
#include "runner.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether a forked child has the descriptor open. */
static int
child_has(int fd)
{
    int status = 0;
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(fcntl(fd, F_GETFD) >= 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(a_forked_child_has_none_of_them)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);
    int fds[2], plain = open("/dev/null", O_RDONLY);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = tp_socket_open(AF_INET), near = tp_socket_open(AF_INET);
    ck_assert(listener >= 0 && near >= 0);
    ck_assert_int_eq(
        bind(listener, (struct sockaddr *) &address, sizeof(address)), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(tp_socket_accept(listener), -1);
    ck_assert_int_eq(errno, EAGAIN);
    getsockname(listener, (struct sockaddr *) &address, &length);
    ck_assert(connect(near, (struct sockaddr *) &address, length) == 0 ||
              errno == EINPROGRESS);
    int far = tp_socket_accept(listener);
    ck_assert_int_ge(far, 0);
    ck_assert_int_eq(tp_socket_pair(fds), 0);
    const int all[] = {listener, near, far, fds[0], fds[1]};
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(fcntl(all[i], F_GETFD), FD_CLOEXEC);
        ck_assert_int_ne(fcntl(all[i], F_GETFL) & O_NONBLOCK, 0);
        ck_assert_int_eq(child_has(all[i]), 0);
    }
    ck_assert_int_eq(child_has(plain), 1);
    for (int i = 0; i < 5; i++)
        tp_socket_close(all[i]);
    tp_socket_close(-1);
    /* a number that was one of them is another's now */
    ck_assert_int_eq(dup2(plain, listener), listener);
    ck_assert_int_eq(child_has(listener), 1);
    close(listener);
    close(plain);
    ck_assert_int_eq(tp_socket_open(-1), -1);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("socket");
    tcase_add_test(cases, a_forked_child_has_none_of_them);
    return run_tcase("socket", cases);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A bit for each socket of this process, for the child of a fork to read. */
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/socket.h"

#define FLAGS (SOCK_CLOEXEC | SOCK_NONBLOCK)
#define KEPT 65536 /* descriptors beyond are kept by a child */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned char ours[KEPT / 8]; /* a bit for each descriptor */
static int highest;

static void
before_fork(void)
{
    pthread_mutex_lock(&mutex);
}

static void
in_parent(void)
{
    pthread_mutex_unlock(&mutex);
}

static void
in_child(void)
{
    for (int fd = 0; fd <= highest; fd++)
        if ((ours[fd / 8] >> fd % 8 & 1) != 0)
            close(fd);
    pthread_mutex_unlock(&mutex);
}

static void
begin(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}

static void
mark(int fd)
{
    if (fd < 0 || fd >= KEPT)
        return;
    ours[fd / 8] |= (unsigned char) (1U << fd % 8);
    highest = fd > highest ? fd : highest;
}

int
tp_socket_open(int family)
{
    pthread_once(&once, begin);
    pthread_mutex_lock(&mutex);
    int fd = socket(family, SOCK_STREAM | FLAGS, 0);
    mark(fd);
    pthread_mutex_unlock(&mutex);
    return fd;
}

int
tp_socket_accept(int listener)
{
    pthread_mutex_lock(&mutex);
    int fd = accept4(listener, NULL, NULL, FLAGS);
    mark(fd);
    pthread_mutex_unlock(&mutex);
    return fd;
}

int
tp_socket_pair(int fds[2])
{
    pthread_mutex_lock(&mutex);
    int ret = socketpair(AF_UNIX, SOCK_STREAM | FLAGS, 0, fds);
    for (int i = 0; ret == 0 && i < 2; i++)
        mark(fds[i]);
    pthread_mutex_unlock(&mutex);
    return ret;
}

void
tp_socket_close(int fd)
{
    pthread_mutex_lock(&mutex);
    if (fd >= 0 && fd < KEPT)
        ours[fd / 8] &= (unsigned char) ~(1U << fd % 8);
    if (fd >= 0)
        close(fd);
    pthread_mutex_unlock(&mutex);
}

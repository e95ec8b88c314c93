/* SPDX-License-Identifier: BSD-3-Clause */
/* The peer's hands. */
#include "sm_peer.h"

#include "common/memfd.h"
#include "socket.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAGES 7U /* of a ring */

char sm_peer_text[64];

struct sm_hello
sm_peer_hello(void)
{
    struct sm_hello hello = {.magic = SM_HELLO_MAGIC,
        .major = SM_HELLO_MAJOR,
        .minor = SM_HELLO_MINOR,
        .size = sizeof hello,
        .flags = SM_HELLO_EMULATES,
        .capacity = PAGES * sm_ring_page(),
        .longest = 4096,
        .owner = SM_PEER_OWNER};

    hello.name_length = (uint32_t) snprintf(
        hello.name, sizeof hello.name, "peer-%d-1", (int) getpid());
    snprintf(sm_peer_text, sizeof sm_peer_text, "sm://%.50s", hello.name);
    return hello;
}

void
sm_peer_open(struct sm_peer *peer, struct fuzz_class *cls)
{
    memset(peer, 0, sizeof *peer);
    peer->cls = cls;
    fuzz_require(
        sm_socket_connect(cls->address + strlen("sm://"), &peer->fd) == 0);
    fuzz_require(
        sm_ring_create(&peer->tx, PAGES * sm_ring_page(), &peer->memory) == 0);
}

void
sm_peer_close(struct sm_peer *peer)
{
    close(peer->fd);
    close(peer->memory);
    sm_ring_close_tx(&peer->tx);
    sm_ring_close_rx(&peer->rx);
}

void
sm_peer_send(const struct sm_peer *peer, const void *bytes, size_t length,
    const int *fds, size_t count)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(3 * sizeof(int))];
    } control = {0};
    struct iovec iov = {
        .iov_base = (void *) (uintptr_t) bytes, .iov_len = length};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    struct cmsghdr *rights;

    if (count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(rights), fds, count * sizeof(int));
    }
    /* The class may have hung up. */
    (void) !sendmsg(peer->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void
sm_peer_hear(struct sm_peer *peer)
{
    struct sm_hello hello;
    int fds[2] = {-1, -1};
    int got = sm_socket_next(peer->fd, &hello, sizeof hello, fds, 2);

    if (got == (int) sizeof hello && fds[0] >= 0 && !peer->rx.control)
        fuzz_require(sm_ring_open(&peer->rx, hello.capacity, hello.longest,
                         fds[0]) == NULL);
    for (unsigned i = 0; got > 0 && i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

void
sm_peer_poll(struct sm_peer *peer)
{
    peer->cls->cls->countdown = 1;
    peer->cls->cls->kernel_due = true;
    fuzz_class_poll(peer->cls);
}

int
sm_peer_descriptor(const struct sm_peer *peer, unsigned kind)
{
    static const uint64_t lengths[] = {4096, 4U << 20, 100};
    int fd = -1;

    switch (kind % 6) {
    case 0:
        return dup(peer->memory);
    case 1: /* another size */
    case 2: /* that of a registry */
        if (tp_memfd_create("fuzz", lengths[kind % 6 - 1], &fd) == 0)
            tp_memfd_seal(fd, false);
        return fd;
    case 3: /* sealed, and no ring */
        if (tp_memfd_create("fuzz", (PAGES + 1) * sm_ring_page(), &fd) == 0)
            tp_memfd_seal(fd, false);
        return fd;
    case 4:
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        fuzz_require(ftruncate(fd, (PAGES + 1) * sm_ring_page()) == 0);
        return fd;
    default:
        return open("/dev/null", O_RDWR | O_CLOEXEC);
    }
}

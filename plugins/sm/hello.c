/* SPDX-License-Identifier: BSD-3-Clause */
/* Packing, sending, receiving and checking a hello. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "address.h"
#include "hello.h"

#define DESCRIPTORS 8 /* that a packet may bring: all but one are closed */

uint32_t
sm_hello_longest(const na_plugin_class *cls)
{
    return cls->max_unexpected > cls->max_expected ? cls->max_unexpected
                                                   : cls->max_expected;
}

int
sm_hello_send(const na_plugin_class *cls, int fd, int32_t status, int ring)
{
    struct sm_hello hello = {
        .magic = SM_HELLO_MAGIC,
        .major = SM_HELLO_MAJOR,
        .minor = SM_HELLO_MINOR,
        .size = sizeof(hello),
        .flags = SM_HELLO_HELPS | (cls->membarrier ? SM_HELLO_MEMBARRIER : 0),
        .status = status,
        .capacity = cls->ring_capacity,
        .longest = sm_hello_longest(cls),
        .name_length = cls->self->length,
        .owner = cls->owner,
    };
    memcpy(hello.name, cls->self->name, cls->self->length);

    struct iovec iov = {.iov_base = &hello, .iov_len = sizeof(hello)};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (ring >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof(control);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(rights), &ring, sizeof(int));
    }

    ssize_t sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent == (ssize_t) sizeof(hello))
        return 0;
    return sent < 0 ? errno : EPROTO;
}

/* The first descriptor that a packet brought, -1 if none; the others are
 * closed. */
static int
take_descriptor(struct msghdr *message)
{
    int kept = -1;

    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL;
         part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
            if (kept < 0)
                kept = fd;
            else
                close(fd);
        }
    }
    return kept;
}

int
sm_hello_recv(int fd, struct sm_hello *hello_p, int *ring_p)
{
    struct sm_hello hello = {0};
    struct iovec iov = {.iov_base = &hello, .iov_len = sizeof(hello)};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
    } control = {0};
    struct msghdr message = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };

    ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;

    int ring = take_descriptor(&message);
    if (got < (ssize_t) sizeof(hello) || hello.magic != SM_HELLO_MAGIC) {
        if (ring >= 0)
            close(ring);
        return -1;
    }
    *hello_p = hello;
    *ring_p = ring;
    return 1;
}

const char *
sm_hello_check(struct sm_hello *hello, const struct sm_process *process)
{
    if (hello->size < sizeof(*hello))
        return "its hello is too short";
    if (hello->name_length > SM_NAME_MAX ||
        !sm_name_valid(hello->name, hello->name_length, SM_NAME_MAX))
        return "its name is not one";
    hello->name[hello->name_length] = '\0';
    if (!sm_socket_believable(process, sm_name_process(hello->name)))
        return "its name tells of another process";
    if (hello->longest > SM_MESSAGE_MAX)
        return "its messages are too long";
    if (hello->owner == 0)
        return "it has no number";
    return NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets with abstract names "na-frozen/NAME/WHICH" and, of a context, its
 * number as one digit behind that. */
#include "frozen.h"

#define PREFIX "na-frozen/"
#define UNIX 1
#define NO_WAIT 0x4040 /* MSG_DONTWAIT | MSG_NOSIGNAL */
#define PATH_AT offsetof(struct sys_addr, path)

uint32_t
socket_name(struct sys_addr *out, const char *name, char which, uint32_t ctx)
{
    char end[] = {'/', which, which == 'c' ? '\0' : (char) ('0' + ctx), '\0'};
    char *text = out->path + 1;

    out->family = UNIX;
    out->path[0] = '\0';
    out->path[1] = '\0';
    sys_append(text, sizeof(out->path) - 1, PREFIX);
    sys_append(text, sizeof(out->path) - 1, name);
    sys_append(text, sizeof(out->path) - 1, end);
    return (uint32_t) (PATH_AT + 1 + sys_length(text));
}

int32_t
socket_open(const char *name, char which, uint32_t ctx)
{
    struct sys_addr own;
    uint32_t length = socket_name(&own, name, which, ctx);
    int32_t fd = sys_datagram_socket();

    if (fd < 0)
        return fd;
    int32_t ret = (int32_t) CALL3(SYS_BIND, fd, &own, length);
    if (ret >= 0)
        return fd;
    CALL1(SYS_CLOSE, fd);
    return ret;
}

int
socket_source(const struct sys_addr *from, uint32_t length,
    char name[NAME_SIZE], uint32_t *ctx)
{
    static const char prefix[] = PREFIX;
    const char *text = from->path + 1;
    uint32_t at = 0;

    if (length <= PATH_AT + 1 || length > sizeof(*from) || from->path[0] != 0)
        return 0;
    uint32_t count = (uint32_t) (length - PATH_AT - 1);
    for (; prefix[at] != '\0'; at++)
        if (at >= count || text[at] != prefix[at])
            return 0;
    uint32_t used = 0;
    while (at < count && text[at] != '/' && used + 1 < NAME_SIZE)
        name[used++] = text[at++];
    name[used] = '\0';
    if (count - at < 2 || text[at] != '/' || !frozen_name_is_valid(name))
        return 0;
    *ctx = count - at > 2 ? (uint32_t) (text[at + 2] - '0') : 0;
    return *ctx < CONTEXTS ? text[at + 1] : 0;
}

int32_t
socket_send(int32_t fd, struct sys_addr *to, uint32_t to_length,
    const struct packet *packet, const void *data, uint64_t length)
{
    struct sys_iov iov[] = {{packet, sizeof(*packet)}, {data, length}};
    struct sys_message message = {
        .name = to, .name_length = to_length, .iov = iov, .iov_count = 2};
    intptr_t sent = CALL3(SYS_SENDMSG, fd, &message, NO_WAIT);

    if (sent >= 0)
        return 0;
    return sent == E_NOBUFS || sent == E_INTR ? E_AGAIN : (int32_t) sent;
}

int64_t
socket_receive(int32_t fd, struct sys_addr *from, uint32_t *from_length,
    struct packet *packet, void *data, uint64_t length, int *truncated)
{
    struct sys_iov iov[] = {{packet, sizeof(*packet)}, {data, length}};
    struct sys_message message = {
        .name = from, .name_length = sizeof(*from), .iov = iov, .iov_count = 2};
    intptr_t count;

    do {
        message.name_length = sizeof(*from);
        count = CALL3(SYS_RECVMSG, fd, &message, NO_WAIT);
        /* What is no packet is nobody's. */
    } while (
        count == E_INTR || (count >= 0 && ((uint64_t) count < sizeof(*packet) ||
                                              packet->magic != PACKET_MAGIC)));
    if (count < 0)
        return count;
    *from_length = message.name_length;
    *truncated = (message.flags & SYS_TRUNCATED) != 0;
    return count - (int64_t) sizeof(*packet);
}

int
socket_is_alive(na_plugin_class *cls, const char *name)
{
    struct sys_addr to;
    uint32_t length = socket_name(&to, name, 'c', 0);

    return CALL3(SYS_CONNECT, cls->probe, &to, length) != E_CONNREFUSED;
}

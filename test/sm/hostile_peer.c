/* SPDX-License-Identifier: BSD-3-Clause */
/* The hostile peer: sockets, hellos, memory, rings. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "hostile_peer.h"

struct node hostile_target;
struct node hostile_friend;
na_plugin_addr *hostile_friend_to_target;

static uint32_t
number(void)
{
    static uint32_t next = 7000;
    return next++;
}

struct hello
good_hello(void)
{
    struct hello hello = {
        .magic = HELLO_MAGIC,
        .major = 3,
        .size = sizeof(hello),
        .capacity = CAPACITY,
        .longest = 4096,
        .owner = 77,
    };
    hello.name_length = (uint32_t) snprintf(
        hello.name, sizeof(hello.name), "peer-%d-%u", (int) getpid(), number());
    return hello;
}

int
make_memory(uint64_t length, int seals)
{
    int fd = memfd_create("peer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t) length), 0);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static unsigned char *
map_ring(int memory)
{
    unsigned char *ring = mmap(
        NULL, PAGE + CAPACITY, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    ck_assert_ptr_ne(ring, MAP_FAILED);
    return ring;
}

socklen_t
address_of(const char *name, struct sockaddr_un *address)
{
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    int length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
        "talaria-sm/%s", name);
    return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 +
                        (size_t) length);
}

int
call(struct node *target)
{
    struct sockaddr_un address;
    char text[TEXT];
    self_string(target, text);
    socklen_t length = address_of(text + strlen("sm://"), &address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *) &address, length), 0);
    return fd;
}

ssize_t
try_send_with(
    int fd, const void *bytes, size_t length, const int *fds, size_t count)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(64 * sizeof(int))];
    } control = {0};
    struct iovec iov = {
        .iov_base = (void *) (uintptr_t) bytes, .iov_len = length};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (count != 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(rights), fds, count * sizeof(int));
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

void
send_with(
    int fd, const void *bytes, size_t length, const int *fds, size_t count)
{
    ck_assert_int_eq(
        try_send_with(fd, bytes, length, fds, count), (ssize_t) length);
}

ssize_t
receive_with(
    int fd, void *bytes, size_t length, int flags, int *fds, size_t count)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(8 * sizeof(int))];
    } control = {0};
    struct iovec iov = {.iov_base = bytes, .iov_len = length};
    struct msghdr message = {.msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = CMSG_LEN(count * sizeof(int))};
    ssize_t got = recvmsg(fd, &message, flags | MSG_CMSG_CLOEXEC);
    struct cmsghdr *rights = got >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
    size_t came =
        rights != NULL ? (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;

    ck_assert_uint_le(came, count);
    for (size_t i = 0; i < count; i++)
        fds[i] = -1;
    if (came != 0)
        memcpy(fds, CMSG_DATA(rights), came * sizeof(int));
    return got;
}

/* The second of the descriptor numbers that would be used next. */
static int
second_free(int fd)
{
    int first = dup(fd), second = dup(fd);

    close(first);
    close(second);
    return second;
}

/* Called outside of cases: no assertions. */
bool
descriptors_without_room_are_closed(void)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char byte;
    struct iovec iov = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = CMSG_LEN(sizeof(int))};
    int pair[2], many[8] = {0}, fd, next;
    bool closed = false;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0)
        return false;
    next = second_free(pair[0]);
    if (try_send_with(pair[0], "", 1, many, 8) == 1 &&
        recvmsg(pair[1], &message, 0) == 1 && CMSG_FIRSTHDR(&message) != NULL) {
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
        close(fd);
        closed = second_free(pair[0]) == next;
    }
    close(pair[0]);
    close(pair[1]);
    return closed;
}

int
make_ring_memory(void)
{
    return make_ring_memory_sealed(SEALS);
}

int
make_ring_memory_sealed(int seals)
{
    int memory = make_memory(PAGE + CAPACITY, 0);
    unsigned char *ring = map_ring(memory);
    uint32_t front[2] = {RING_MAGIC, CAPACITY};
    memcpy(ring, front, sizeof(front));
    munmap(ring, PAGE + CAPACITY);
    ck_assert_int_eq(fcntl(memory, F_ADD_SEALS, seals), 0);
    return memory;
}

struct hostile_peer
hostile_open_as(struct node *target, const struct hello *hello)
{
    struct hostile_peer peer = {
        .socket = call(target), .memory = make_ring_memory(), .registry = -1};
    peer.ring = map_ring(peer.memory);
    send_with(peer.socket, hello, sizeof(*hello), &peer.memory, 1);
    return peer;
}

struct hostile_peer
hostile_open(struct node *target)
{
    struct hello hello = good_hello();

    return hostile_open_as(target, &hello);
}

void
hostile_await_answer(struct hostile_peer *peer)
{
    struct hello hello;
    int fds[2];
    uint64_t deadline = now_ns() + UINT64_C(20000000000);

    while (receive_with(
               peer->socket, &hello, sizeof(hello), MSG_DONTWAIT, fds, 2) < 0) {
        ck_assert_msg(now_ns() < deadline, "the class does not answer");
        pump();
    }
    ck_assert_int_ge(fds[0], 0);
    ck_assert_uint_eq(hello.capacity, CAPACITY);
    peer->theirs = map_ring(fds[0]);
    peer->registry = fds[1];
    close(fds[0]);
}

static uint32_t
record_size(uint32_t length)
{
    return (length + 16 + 63) & ~63U;
}

void
hostile_put_rma(struct hostile_peer *peer, const struct rma_record *record,
    const void *data, uint32_t length)
{
    uint32_t payload = (uint32_t) sizeof(*record) + length;
    unsigned char *at = peer->ring + PAGE + peer->position + 16;

    ck_assert_uint_le(peer->position + record_size(payload), CAPACITY);
    memcpy(at, record, sizeof(*record));
    if (length != 0)
        memcpy(at + sizeof(*record), data, length);
    put_word(peer->ring, peer->position, RMA, 0, payload, 0);
    peer->position += record_size(payload);
}

struct rma_record
hostile_await_rma(struct hostile_peer *peer, const unsigned char **data_p)
{
    unsigned char *at = peer->theirs + PAGE + peer->received;
    uint64_t deadline = now_ns() + UINT64_C(20000000000);
    struct rma_record record;
    uint64_t word;

    while ((word = atomic_load((_Atomic uint64_t *) (void *) at)) == 0) {
        ck_assert_msg(now_ns() < deadline, "no record from the class");
        pump();
    }
    ck_assert_uint_eq(word >> 16 & 0xFFFF, RMA);
    memcpy(&record, at + 16, sizeof(record));
    *data_p = at + 16 + sizeof(record);
    peer->received += record_size((uint32_t) (word >> 32));
    return record;
}

void
hostile_close(struct hostile_peer *peer)
{
    close(peer->socket);
    close(peer->memory);
    munmap(peer->ring, PAGE + CAPACITY);
    if (peer->theirs != NULL)
        munmap(peer->theirs, PAGE + CAPACITY);
    if (peer->registry >= 0)
        close(peer->registry);
}

void
put_word(unsigned char *ring, uint32_t position, uint32_t kind, uint32_t target,
    uint32_t length, uint32_t tag)
{
    uint64_t word = (uint64_t) target << 8 | (uint64_t) kind << 16 |
                    (uint64_t) length << 32;
    memcpy(ring + PAGE + position + 8, &tag, sizeof(tag));
    atomic_store((_Atomic uint64_t *) (void *) (ring + PAGE + position), word);
}

void
open_both(void)
{
    open_both_as(NULL);
}

void
open_both_as(const struct node_options *options)
{
    char text[TEXT];
    node_open(&hostile_target, options);
    node_open(&hostile_friend, options);
    self_string(&hostile_target, text);
    hostile_friend_to_target = lookup(&hostile_friend, text);
}

void
close_both(void)
{
    node_warnings(&hostile_target);
    hostile_friend.ops->addr_free(hostile_friend.cls, hostile_friend_to_target);
    node_close(&hostile_friend);
    node_close(&hostile_target);
}

void
check_friend(void)
{
    char buffer[8];
    void *op = post_unexpected(&hostile_target, buffer, sizeof(buffer));
    ck_assert_int_eq(send_unexpected(&hostile_friend, "friend", 7,
                         hostile_friend_to_target, 5),
        0);
    na_plugin_event event = await_message(&hostile_target, 0, op, 7, 5, true);
    hostile_target.ops->addr_free(hostile_target.cls, event.source);
    free(op);
}

void
expect_hangup(int fd)
{
    unsigned char bytes[4096];
    ssize_t got = 1;
    uint64_t deadline = now_ns() + UINT64_C(5000000000);
    while (got > 0 || (got < 0 && errno == EAGAIN)) {
        ck_assert_msg(now_ns() < deadline, "the connection is still there");
        pump();
        got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    }
}

struct hello
await_answer(const struct hostile_peer *peer)
{
    struct hello hello = {0};
    ssize_t got = -1;
    uint64_t deadline = now_ns() + UINT64_C(5000000000);
    while (got < 0) {
        ck_assert_uint_lt(now_ns(), deadline);
        pump();
        got = recv(peer->socket, &hello, sizeof(hello), MSG_DONTWAIT);
    }
    ck_assert_int_eq(got, sizeof(hello));
    return hello;
}

void
trap_open(struct trap *trap, char text[TEXT])
{
    struct sockaddr_un address;
    char name[64];
    snprintf(name, sizeof(name), "trap-%d-%u", (int) getpid(), number());
    socklen_t length = address_of(name, &address);
    snprintf(text, TEXT, "sm://%s", name);
    trap->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(
        bind(trap->listener, (struct sockaddr *) &address, length), 0);
    ck_assert_int_eq(listen(trap->listener, 8), 0);
}

void
trap_accept(struct trap *trap)
{
    trap->socket = accept4(trap->listener, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(trap->socket, 0);
    ck_assert_int_eq(receive_with(trap->socket, &trap->received,
                         sizeof(trap->received), 0, &trap->memory, 1),
        (ssize_t) sizeof(trap->received));
    /* keeps the class from losing it to another process */
    ck_assert_int_eq(fcntl(trap->memory, F_GET_SEALS) & SEALS, SEALS);
    ck_assert_int_ne(ftruncate(trap->memory, 0), 0);
    trap->ring = mmap(NULL, PAGE + trap->received.capacity,
        PROT_READ | PROT_WRITE, MAP_SHARED, trap->memory, 0);
    ck_assert_ptr_ne(trap->ring, MAP_FAILED);
}

void
trap_close(struct trap *trap)
{
    munmap(trap->ring, PAGE + trap->received.capacity);
    close(trap->memory);
    close(trap->socket);
    close(trap->listener);
}

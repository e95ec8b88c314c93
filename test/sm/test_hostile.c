/* SPDX-License-Identifier: BSD-3-Clause */
/* A neighbour that does not keep to the protocol, by accident or not: it loses
 * its connection, and nobody else anything. Written against the layout in the
 * plugin's README.md. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness.h"

#define PAGE ((uint32_t) sysconf(_SC_PAGESIZE))
#define CAPACITY (7 * PAGE)
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define RING_MAGIC 0x31676E52U
#define HELLO_MAGIC 0x314D5354U
#define UNEXPECTED 1U
#define EXPECTED 2U

struct hello {
    uint32_t magic;
    uint16_t major;
    uint16_t minor;
    uint32_t size;
    uint32_t flags;
    int32_t status;
    uint32_t capacity;
    uint32_t longest;
    uint32_t name_length;
    uint64_t owner;
    char name[88];
};

/* A ring of ours, and our end of a connection. */
struct foe {
    int socket;
    int memory;
    unsigned char *ring; /* control page, then records */
};

static struct node node;   /* the class under attack */
static struct node friend; /* who shall not suffer from it */
static na_plugin_addr *to_node;

static uint32_t
number(void)
{
    static uint32_t next = 7000;
    return next++;
}

static struct hello
good_hello(void)
{
    struct hello hello = {
        .magic = HELLO_MAGIC,
        .major = 1,
        .size = sizeof(hello),
        .capacity = CAPACITY,
        .longest = 4096,
        .owner = 77,
    };
    hello.name_length = (uint32_t) snprintf(
        hello.name, sizeof(hello.name), "foe-%d-%u", (int) getpid(), number());
    return hello;
}

static int
make_memory(uint64_t length, int seals)
{
    int fd = memfd_create("foe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
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

static socklen_t
address_of(const char *name, struct sockaddr_un *address)
{
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    int length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
        "talaria-sm/%s", name);
    return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 +
                        (size_t) length);
}

static int
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

/* Sends bytes with any number of descriptors. */
static void
send_with(
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
    ck_assert_int_eq(sendmsg(fd, &message, MSG_NOSIGNAL), (ssize_t) length);
}

/* A connection with a good hello and a ring. */
static struct foe
foe_open(struct node *target)
{
    struct hello hello = good_hello();
    struct foe foe = {
        .socket = call(target), .memory = make_memory(PAGE + CAPACITY, SEALS)};
    foe.ring = map_ring(foe.memory);
    uint32_t front[2] = {RING_MAGIC, CAPACITY};
    memcpy(foe.ring, front, sizeof(front));
    send_with(foe.socket, &hello, sizeof(hello), &foe.memory, 1);
    return foe;
}

static void
foe_close(struct foe *foe)
{
    close(foe->socket);
    close(foe->memory);
    munmap(foe->ring, PAGE + CAPACITY);
}

static void
put_word(unsigned char *ring, uint32_t position, uint32_t kind, uint32_t target,
    uint32_t length, uint32_t tag)
{
    uint64_t word = (uint64_t) target << 8 | (uint64_t) kind << 16 |
                    (uint64_t) length << 32;
    memcpy(ring + PAGE + position + 8, &tag, sizeof(tag));
    atomic_store((_Atomic uint64_t *) (void *) (ring + PAGE + position), word);
}

static void
open_both(void)
{
    char text[TEXT];
    node_open(&node, NULL);
    node_open(&friend, NULL);
    self_string(&node, text);
    to_node = lookup(&friend, text);
}

static void
close_both(void)
{
    node_warnings(&node);
    friend.ops->addr_free(friend.cls, to_node);
    node_close(&friend);
    node_close(&node);
}

/* All is well with the others. */
static void
check_friend(void)
{
    char buffer[8];
    void *op = post_unexpected(&node, buffer, sizeof(buffer));
    ck_assert_int_eq(send_unexpected(&friend, "friend", 7, to_node, 5), 0);
    na_plugin_event event = await_message(&node, 0, op, 7, 5, true);
    node.ops->addr_free(node.cls, event.source);
    free(op);
}

/* The class hangs up; nothing of the connection stays behind. */
static void
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

/* One hello that must be refused. */
static void
refuse(struct hello hello, size_t length, const int *fds, size_t count)
{
    int fd = call(&node);
    send_with(fd, &hello, length, fds, count);
    expect_hangup(fd);
    close(fd);
    check_friend();
}

START_TEST(hostile_hello_is_refused)
{
    open_both();
    check_friend();
    uint32_t mappings = count_mappings();
    uint32_t descriptors = count_descriptors();
    int memory = make_memory(PAGE + CAPACITY, SEALS);
    unsigned char *ring = map_ring(memory);
    uint32_t front[2] = {RING_MAGIC, CAPACITY};
    memcpy(ring, front, sizeof(front));
    munmap(ring, PAGE + CAPACITY);
    size_t all = sizeof(struct hello);

    struct hello hello = good_hello();
    refuse(hello, 1, &memory, 1);
    refuse(hello, all - 1, &memory, 1);
    refuse(hello, all, NULL, 0);
    hello.magic++;
    refuse(hello, all, &memory, 1);
    hello = good_hello();
    hello.major = 2;
    refuse(hello, all, &memory, 1);
    hello = good_hello();
    hello.size = 12;
    refuse(hello, all, &memory, 1);
    hello = good_hello();
    hello.owner = 0;
    refuse(hello, all, &memory, 1);
    static const uint32_t lengths[] = {0, 88, 89, 4096, UINT32_MAX};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        hello = good_hello();
        hello.name_length = lengths[i];
        refuse(hello, all, &memory, 1);
    }
    static const char *const names[] = {"1-0", "foe", "-1-1", "foe-0-1",
        "foe-99999999999-1", "../../x-1-1", "foe- -1"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        hello = good_hello();
        snprintf(hello.name, sizeof(hello.name), "%s", names[i]);
        hello.name_length = (uint32_t) strlen(hello.name);
        refuse(hello, all, &memory, 1);
    }
    const uint32_t capacities[] = {0, 64, PAGE, CAPACITY + 64, CAPACITY - PAGE,
        CAPACITY + PAGE, 1U << 30, UINT32_MAX - 4095, UINT32_MAX};
    for (size_t i = 0; i < sizeof(capacities) / sizeof(capacities[0]); i++) {
        hello = good_hello();
        hello.capacity = capacities[i];
        refuse(hello, all, &memory, 1);
    }
    static const uint32_t longest[] = {20000, 65537, UINT32_MAX};
    for (size_t i = 0; i < sizeof(longest) / sizeof(longest[0]); i++) {
        hello = good_hello();
        hello.longest = longest[i];
        refuse(hello, all, &memory, 1);
    }
    close(memory);
    ck_assert_uint_eq(count_mappings(), mappings);
    ck_assert_uint_eq(count_descriptors(), descriptors);
    close_both();
}
END_TEST

START_TEST(hostile_name_of_the_class_itself_is_refused)
{
    char text[TEXT];
    open_both();
    int memory = make_memory(PAGE + CAPACITY, SEALS);
    unsigned char *ring = map_ring(memory);
    uint32_t front[2] = {RING_MAGIC, CAPACITY};
    memcpy(ring, front, sizeof(front));
    munmap(ring, PAGE + CAPACITY);
    struct hello hello = good_hello();
    self_string(&node, text);
    hello.name_length = (uint32_t) snprintf(
        hello.name, sizeof(hello.name), "%s", text + strlen("sm://"));
    refuse(hello, sizeof(hello), &memory, 1);
    close(memory);
    close_both();
}
END_TEST

START_TEST(hostile_memory_is_refused)
{
    int pipes[2];
    int many[40];
    size_t all = sizeof(struct hello);
    open_both();
    check_friend();
    uint32_t descriptors = count_descriptors();
    ck_assert_int_eq(pipe(pipes), 0);
    int bad[] = {
        make_memory(PAGE + CAPACITY, 0),
        make_memory(PAGE + CAPACITY, F_SEAL_SHRINK | F_SEAL_SEAL),
        make_memory(PAGE + CAPACITY, SEALS | F_SEAL_WRITE),
        make_memory(CAPACITY, SEALS),
        make_memory(2 * PAGE + CAPACITY, SEALS),
        make_memory(0, SEALS),
        make_memory(PAGE + CAPACITY, SEALS), /* no ring: all zero */
        open("/dev/zero", O_RDWR | O_CLOEXEC),
        open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
        pipes[0],
        pipes[1],
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        refuse(good_hello(), all, &bad[i], 1);
    for (size_t i = 0; i < 40; i++)
        many[i] = bad[0];
    refuse(good_hello(), all, many, 2);
    refuse(good_hello(), all, many, 40);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        close(bad[i]);
    ck_assert_uint_eq(count_descriptors(), descriptors);
    close_both();
}
END_TEST

/* Callers that say nothing go when there are too many, or it has been long. */
START_TEST(hostile_silent_callers_are_bounded)
{
    int fds[400];
    open_both();
    check_friend();
    uint32_t descriptors = count_descriptors();
    for (int i = 0; i < 400; i++) {
        fds[i] = call(&node);
        pump();
    }
    check_friend();
    /* ours; theirs: socket and process */
    ck_assert_uint_le(count_descriptors(), descriptors + 400 + 2 * 257);
    expect_hangup(fds[0]);
    check_friend();
    for (int i = 0; i < 400; i++)
        close(fds[i]);
    for (int i = 0; i < 20000; i++)
        pump();
    ck_assert_uint_eq(count_descriptors(), descriptors);
    close_both();
}
END_TEST

/* Waits until the class has answered: the hello it sends. */
static struct hello
await_answer(const struct foe *foe)
{
    struct hello hello = {0};
    ssize_t got = -1;
    uint64_t deadline = now_ns() + UINT64_C(5000000000);
    while (got < 0) {
        ck_assert_uint_lt(now_ns(), deadline);
        pump();
        got = recv(foe->socket, &hello, sizeof(hello), MSG_DONTWAIT);
    }
    ck_assert_int_eq(got, sizeof(hello));
    return hello;
}

START_TEST(hostile_good_neighbour_is_heard)
{
    char buffer[64];
    open_both();
    struct foe foe = foe_open(&node);
    struct hello hello = await_answer(&foe);
    ck_assert_uint_eq(hello.magic, HELLO_MAGIC);
    ck_assert_int_eq(hello.status, 0);
    void *op = post_unexpected(&node, buffer, sizeof(buffer));
    memcpy(foe.ring + PAGE + 16, "hello", 6);
    put_word(foe.ring, 0, UNEXPECTED, 0, 6, 9);
    na_plugin_event event = await_message(&node, 0, op, 6, 9, true);
    ck_assert_str_eq(buffer, "hello");
    node.ops->addr_free(node.cls, event.source);
    free(op);
    foe_close(&foe);
    close_both();
}
END_TEST

/* One record that cannot be: the connection ends, with what waits for it. */
static void
bad_record(uint32_t kind, uint32_t target, uint32_t length)
{
    char buffer[64];
    open_both();
    check_friend();
    struct foe foe = foe_open(&node);
    await_answer(&foe);
    void *op = post_unexpected(&node, buffer, sizeof(buffer));
    put_word(foe.ring, 0, UNEXPECTED, 0, 6, 9);
    na_plugin_event event = await_message(&node, 0, op, 6, 9, true);
    void *wait = post_expected(&node, buffer, sizeof(buffer), event.source, 1);

    put_word(foe.ring, 64, kind, target, length, 9);
    ck_assert_int_eq(
        await_op(&node, 0, wait).status, NA_PLUGIN_E_PROTOCOL_ERROR);
    ck_assert_uint_eq(node_warnings(&node), 1);
    ck_assert_uint_eq(node_counter(&node, "connections_broken"), 1);
    expect_hangup(foe.socket);
    node.ops->addr_free(node.cls, event.source);
    free(op);
    free(wait);
    foe_close(&foe);
    check_friend();
    close_both();
}

START_TEST(hostile_record_of_unknown_kind_ends_connection)
{
    bad_record(3, 0, 8);
}
END_TEST

START_TEST(hostile_record_with_stray_bits_ends_connection)
{
    bad_record(0x8001, 0, 8);
}
END_TEST

START_TEST(hostile_record_too_long_ends_connection)
{
    bad_record(UNEXPECTED, 0, 4097);
}
END_TEST

START_TEST(hostile_record_of_four_gib_ends_connection)
{
    bad_record(EXPECTED, 0, UINT32_MAX);
}
END_TEST

START_TEST(hostile_record_too_long_for_missing_context_ends_connection)
{
    bad_record(UNEXPECTED, 99, 65536);
}
END_TEST

/* Every line of the ring announces a message, for ever. */
START_TEST(hostile_endless_ring_is_listened_to_within_bounds)
{
    open_both();
    struct foe foe = foe_open(&node);
    await_answer(&foe);
    for (uint32_t i = 0; i < CAPACITY; i += 64)
        put_word(foe.ring, i, UNEXPECTED, 0, 8, i);
    for (int i = 0; i < 20000; i++)
        pump();
    ck_assert_uint_le(node_counter(&node, "unexpected_queued"), (1 << 20) / 64);
    close(foe.socket);
    uint64_t deadline = now_ns() + UINT64_C(5000000000);
    while (node_counter(&node, "connections_lost") == 0) {
        ck_assert_uint_lt(now_ns(), deadline);
        pump();
    }
    close(foe.memory);
    munmap(foe.ring, PAGE + CAPACITY);
    /* what it has queued is there; a friend's comes after it */
    char buffer[64];
    for (uint32_t i = 0; i < 100; i++) {
        void *op = post_unexpected(&node, buffer, sizeof(buffer));
        na_plugin_event event = await_op(&node, 0, op);
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        node.ops->addr_free(node.cls, event.source);
        free(op);
    }
    close_both();
}
END_TEST

START_TEST(hostile_bells_do_no_harm)
{
    static char noise[4096];
    open_both();
    struct foe foe = foe_open(&node);
    await_answer(&foe);
    for (int i = 0; i < 2000; i++) {
        ssize_t sent = send(foe.socket, noise, 1 + (size_t) i % sizeof(noise),
            MSG_DONTWAIT | MSG_NOSIGNAL);
        (void) sent;
        pump();
    }
    /* descriptors that come with it are not kept */
    uint32_t descriptors = count_descriptors();
    for (int i = 0; i < 50; i++) {
        send_with(foe.socket, "x", 1, &foe.memory, 1);
        for (int j = 0; j < 100; j++)
            pump();
    }
    for (int i = 0; i < 5000; i++)
        pump();
    ck_assert_uint_eq(count_descriptors(), descriptors);
    check_friend();
    ck_assert_uint_eq(node_counter(&node, "connections_broken"), 0);
    foe_close(&foe);
    close_both();
}
END_TEST

/* A listener that is not of our kind. Answers a call of the class. */
struct trap {
    int listener;
    int socket;
    struct hello heard;
    int memory;
    unsigned char *ring; /* the class's */
};

static void
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

static void
trap_accept(struct trap *trap)
{
    trap->socket = accept4(trap->listener, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(trap->socket, 0);
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec iov = {
        .iov_base = &trap->heard, .iov_len = sizeof(trap->heard)};
    struct msghdr message = {.msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control)};
    ck_assert_int_eq(
        recvmsg(trap->socket, &message, 0), (ssize_t) sizeof(trap->heard));
    memcpy(&trap->memory, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
    /* nobody can take it away from under the class */
    ck_assert_int_eq(fcntl(trap->memory, F_GET_SEALS) & SEALS, SEALS);
    ck_assert_int_ne(ftruncate(trap->memory, 0), 0);
    trap->ring = mmap(NULL, PAGE + trap->heard.capacity, PROT_READ | PROT_WRITE,
        MAP_SHARED, trap->memory, 0);
    ck_assert_ptr_ne(trap->ring, MAP_FAILED);
}

static void
trap_close(struct trap *trap)
{
    munmap(trap->ring, PAGE + trap->heard.capacity);
    close(trap->memory);
    close(trap->socket);
    close(trap->listener);
}

/* Sends until one is pending, or there were 30 of them: the last result, and its
 * operation. */
static int32_t
send_until_pending(na_plugin_addr *peer, void **op_p)
{
    static unsigned char data[4000];
    int32_t ret = NA_PLUGIN_DONE;
    for (int i = 0; i < 30 && ret == NA_PLUGIN_DONE; i++) {
        *op_p = op_new(&node);
        ret = node.ops->send_unexpected(
            node.ctx[0], *op_p, data, sizeof(data), NULL, peer, 0, 1);
        if (ret == NA_PLUGIN_DONE)
            free(*op_p);
    }
    return ret;
}

/* A consumer whose count goes through these two values; the second cannot be. */
static void
lie(int64_t first, int64_t second)
{
    char buffer[8];
    char text[TEXT];
    struct trap trap;
    void *op = NULL;
    open_both();
    trap_open(&trap, text);
    na_plugin_addr *peer = lookup(&node, text);
    void *wait = post_expected(&node, buffer, sizeof(buffer), peer, 1);
    trap_accept(&trap);
    _Atomic int64_t *consumed = (void *) (trap.ring + 64);

    ck_assert_int_eq(send_until_pending(peer, &op), NA_PLUGIN_PENDING);
    atomic_store(consumed, first);
    ck_assert_int_eq(await_op(&node, 0, op).status, NA_PLUGIN_OK);
    free(op);
    atomic_store(consumed, second);
    ck_assert_int_eq(send_until_pending(peer, &op), NA_PLUGIN_PENDING);
    ck_assert_int_eq(await_op(&node, 0, op).status, NA_PLUGIN_E_PROTOCOL_ERROR);
    ck_assert_int_eq(
        await_op(&node, 0, wait).status, NA_PLUGIN_E_PROTOCOL_ERROR);
    check_friend();
    node.ops->addr_free(node.cls, peer);
    free(op);
    free(wait);
    trap_close(&trap);
    close_both();
}

START_TEST(hostile_consumer_ahead_of_producer_ends_connection)
{
    lie(8192, 1 << 20);
}
END_TEST

START_TEST(hostile_consumer_that_goes_back_ends_connection)
{
    lie(8192, 4096);
}
END_TEST

START_TEST(hostile_consumer_below_zero_ends_connection)
{
    lie(8192, -64);
}
END_TEST

/* Answers that are none, or say no. */
START_TEST(hostile_answer_ends_the_call)
{
    char buffer[8];
    char text[TEXT];
    for (int i = 0; i < 6; i++) {
        struct trap trap;
        open_both();
        trap_open(&trap, text);
        na_plugin_addr *peer = lookup(&node, text);
        void *wait = post_expected(&node, buffer, sizeof(buffer), peer, 1);
        trap_accept(&trap);
        struct hello hello = good_hello();
        size_t length = sizeof(hello);
        int32_t code = NA_PLUGIN_E_PROTOCOL_ERROR;
        if (i == 0)
            hello.major = 9;
        else if (i == 1)
            hello.status = NA_PLUGIN_E_PROTOCOL_ERROR;
        else if (i == 2)
            hello.name[0] = '/';
        else if (i == 3)
            code = NA_PLUGIN_E_HOSTUNREACH, length = 5;
        else if (i == 4)
            code = NA_PLUGIN_E_HOSTUNREACH, hello.magic = 0;
        send_with(trap.socket, &hello, length, NULL, 0);
        ck_assert_int_eq(await_op(&node, 0, wait).status, code);
        expect_hangup(trap.socket);
        check_friend();
        node.ops->addr_free(node.cls, peer);
        free(wait);
        trap_close(&trap);
        close_both();
    }
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("hostile");
    tcase_add_test(cases, hostile_hello_is_refused);
    tcase_add_test(cases, hostile_name_of_the_class_itself_is_refused);
    tcase_add_test(cases, hostile_memory_is_refused);
    tcase_add_test(cases, hostile_silent_callers_are_bounded);
    tcase_add_test(cases, hostile_good_neighbour_is_heard);
    tcase_add_test(cases, hostile_record_of_unknown_kind_ends_connection);
    tcase_add_test(cases, hostile_record_with_stray_bits_ends_connection);
    tcase_add_test(cases, hostile_record_too_long_ends_connection);
    tcase_add_test(cases, hostile_record_of_four_gib_ends_connection);
    tcase_add_test(
        cases, hostile_record_too_long_for_missing_context_ends_connection);
    tcase_add_test(cases, hostile_endless_ring_is_listened_to_within_bounds);
    tcase_add_test(cases, hostile_bells_do_no_harm);
    tcase_add_test(cases, hostile_consumer_ahead_of_producer_ends_connection);
    tcase_add_test(cases, hostile_consumer_that_goes_back_ends_connection);
    tcase_add_test(cases, hostile_consumer_below_zero_ends_connection);
    tcase_add_test(cases, hostile_answer_ends_the_call);
    return run_cases("hostile", &cases, 1);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes of other users. Those that a class does not admit leave no trace in
 * it. Those that it admits, since it was opened for any user, can access what
 * was granted to them and nothing else, even after exec. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile_peer.h"

#define OTHER_USER 65533
#define FLOODS 140
#define FDS 8
#define REGION 4096U
#define AT_KEY 16 /* offsets in a serialized registration: README.md */
#define AT_OWNER 8
#define AT_BASE 24

static const struct node_options any_user = {.name = "any/"};

static void
become_other_user(void)
{
    if (setgid(OTHER_USER) != 0 || setuid(OTHER_USER) != 0)
        _exit(9);
}

/* A socket connected to the class with this address, by another process than
 * the class's. */
static int
connect_to(const char *text)
{
    struct sockaddr_un address;
    socklen_t length = address_of(text + strlen("sm://"), &address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *) &address, length) != 0)
        _exit(8);
    return fd;
}

/* Empty packets, each with as many descriptors as fit. */
static int
flood(const struct parent *parent)
{
    char text[TEXT];
    int fds[FDS];

    recv_line(parent->in, text);
    become_other_user();
    for (int i = 0; i < FDS; i++)
        fds[i] = STDIN_FILENO;
    for (int i = 0; i < FLOODS; i++) {
        int fd = connect_to(text);
        /* the class may have disconnected already */
        try_send_with(fd, "", 0, fds, FDS);
        try_send_with(fd, "", 0, fds, FDS);
        close(fd);
    }
    send_line(parent->out, "flooded");
    expect_line(parent->in, "end");
    return 0;
}

/* The class has no more descriptors than before, and works. */
static void
ck_survives(const struct node_options *options)
{
    char text[TEXT];
    struct child child = child_start(flood, NULL);

    open_both_as(options);
    check_friend();
    uint32_t descriptors = count_descriptors();
    self_string(&hostile_target, text);
    send_line(child.out, text);
    /* the pipe is read between polls */
    ck_assert_int_eq(fcntl(child.in, F_SETFL, O_NONBLOCK), 0);
    uint64_t deadline = now_ns() + UINT64_C(20000000000);
    char line[TEXT];
    while (read(child.in, line, sizeof(line)) < 0) {
        ck_assert_msg(now_ns() < deadline, "the flood does not end");
        pump();
    }
    ck_assert_str_eq(line, "flooded");
    /* once another call is answered, all of them were accepted */
    struct hostile_peer last = hostile_open(&hostile_target);
    hostile_await_answer(&last);
    hostile_close(&last);
    deadline = now_ns() + UINT64_C(20000000000);
    while (count_descriptors() > descriptors && now_ns() < deadline)
        pump();
    ck_assert_uint_eq(count_descriptors(), descriptors);
    check_friend();
    send_line(child.out, "end");
    child_join(&child);
    close_both();
}

START_TEST(other_user_not_admitted_leaks_no_descriptors)
{
    ck_survives(NULL);
}
END_TEST

START_TEST(other_user_admitted_leaks_no_descriptors)
{
    ck_survives(&any_user);
}
END_TEST

/* Descriptors in packets on an established connection. */
START_TEST(other_user_connected_leaks_no_descriptors)
{
    int fds[FDS];

    open_both();
    check_friend();
    uint32_t descriptors = count_descriptors();
    for (int i = 0; i < FDS; i++)
        fds[i] = STDIN_FILENO;
    for (int i = 0; i < FLOODS; i++) {
        struct hostile_peer peer = hostile_open(&hostile_target);

        hostile_await_answer(&peer);
        send_with(peer.socket, "x", 1, fds, FDS);
        send_with(peer.socket, "", 0, fds, FDS);
        expect_hangup(peer.socket);
        hostile_close(&peer);
    }
    ck_assert_uint_eq(count_descriptors(), descriptors);
    check_friend();
    close_both();
}
END_TEST

/* More connections than a user may have: further ones are refused, and the
 * class keeps descriptors for the admitted ones only. */
static int
connect_often(const struct parent *parent)
{
    char text[TEXT];
    int memory = make_ring_memory();

    recv_line(parent->in, text);
    become_other_user();
    for (int i = 0; i < FLOODS; i++) {
        struct hello hello = good_hello();

        /* it stays open */
        try_send_with(connect_to(text), &hello, sizeof(hello), &memory, 1);
    }
    send_line(parent->out, "connected");
    expect_line(parent->in, "end");
    return 0;
}

START_TEST(other_user_connections_are_limited)
{
    static const struct node_options few = {.name = "any/",
        .setting_key = "sm.user_connections",
        .setting_value = "10"};
    char text[TEXT];
    struct child child = child_start(connect_often, NULL);

    open_both_as(&few);
    check_friend();
    uint32_t descriptors = count_descriptors();
    self_string(&hostile_target, text);
    send_line(child.out, text);
    uint64_t deadline = now_ns() + UINT64_C(20000000000);
    while (node_counter(&hostile_target, "callers_refused") < FLOODS - 10) {
        ck_assert_msg(now_ns() < deadline, "they are not refused");
        pump();
    }
    expect_line(child.in, "connected");
    /* a socket and a process each */
    ck_assert_uint_le(count_descriptors(), descriptors + 20);
    ck_assert_uint_eq(
        node_counter(&hostile_target, "callers_refused"), FLOODS - 10);
    check_friend();
    send_line(child.out, "end");
    child_join(&child);
    deadline = now_ns() + UINT64_C(20000000000);
    while (count_descriptors() > descriptors && now_ns() < deadline)
        pump();
    /* minus those that child_join closed */
    ck_assert_uint_eq(count_descriptors(), descriptors - 2);
    close_both();
}
END_TEST

/* What the class sends to a process of another user: a ring only. */
static int
ask_for_segment(const struct parent *parent)
{
    char text[TEXT];
    uint64_t key;
    struct rma_record record = {.verb = RMA_MAP};
    struct hello hello = good_hello();
    struct shared_packet packet;
    int fds[2], memory = make_ring_memory();

    recv_line(parent->in, text);
    if (read(parent->in, &key, sizeof(key)) != sizeof(key))
        return 1;
    become_other_user();
    struct hostile_peer peer = {.socket = connect_to(text), .memory = memory};
    peer.ring = mmap(
        NULL, PAGE + CAPACITY, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    send_with(peer.socket, &hello, sizeof(hello), &memory, 1);
    ck_assert_int_eq(
        receive_with(peer.socket, &hello, sizeof(hello), 0, fds, 2),
        sizeof(hello));
    ck_assert_int_ge(fds[0], 0);
    ck_assert_int_eq(fds[1], -1); /* no registry */
    record.mem = key;
    hostile_put_rma(&peer, &record, NULL, 0);
    record.last = 1;
    hostile_put_rma(&peer, &record, NULL, 0);
    send_line(parent->out, "asked");
    expect_line(parent->in, "look");
    ck_assert_int_lt(receive_with(peer.socket, &packet, sizeof(packet),
                         MSG_DONTWAIT, fds, 1),
        0);
    peer.theirs = NULL;
    peer.registry = -1;
    hostile_close(&peer);
    close(fds[0]);
    return 0;
}

START_TEST(other_user_gets_a_ring_only)
{
    char text[TEXT];
    void *shared;
    unsigned char bytes[256];
    uint64_t size = sizeof(bytes), key;
    struct child child = child_start(ask_for_segment, NULL);

    open_both_as(&any_user);
    const na_plugin_mem_alloc *alloc = hostile_target.ops->extension(
        hostile_target.cls, NA_PLUGIN_MEM_ALLOC_ID);
    ck_assert_int_eq(
        alloc->alloc(hostile_target.cls, REGION, &shared), NA_PLUGIN_OK);
    na_plugin_segment segment = {.base = shared, .length = REGION};
    na_plugin_mem *mem;
    ck_assert_int_eq(hostile_target.ops->mem_register(hostile_target.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, 3, 0, 0},
                         &mem),
        NA_PLUGIN_OK);
    ck_assert_int_eq(hostile_target.ops->mem_serialize(
                         hostile_target.cls, mem, bytes, &size),
        0);
    memcpy(&key, bytes + AT_KEY, sizeof(key));
    self_string(&hostile_target, text);
    send_line(child.out, text);
    ck_assert_int_eq(write(child.out, &key, sizeof(key)), sizeof(key));
    uint64_t deadline = now_ns() + UINT64_C(20000000000);
    ck_assert_int_eq(fcntl(child.in, F_SETFL, O_NONBLOCK), 0);
    while (read(child.in, text, sizeof(text)) < 0) {
        ck_assert_msg(now_ns() < deadline, "the other user does not connect");
        pump();
    }
    for (int i = 0; i < 20000; i++)
        pump();
    ck_assert_int_eq(fcntl(child.in, F_SETFL, 0), 0);
    send_line(child.out, "look");
    child_join(&child);
    hostile_target.ops->mem_deregister(hostile_target.cls, mem);
    alloc->free(hostile_target.cls, shared);
    close_both();
}
END_TEST

/* The set-user-ID victim program, and the address of its memory. */
static void
install_victim(char path[TEXT], uint64_t *address_p)
{
    const char *from = getenv("SM_VICTIM");
    const char *folder = getenv("TMPDIR");
    char command[4 * TEXT];

    ck_assert_ptr_nonnull(from);
    snprintf(path, TEXT, "%s/victim-%d", folder != NULL ? folder : "/tmp",
        (int) getpid());
    snprintf(command, sizeof(command),
        "cp '%s' '%s' && chmod 4755 '%s' && '%s' --address", from, path, path,
        path);
    FILE *output = popen(command, "re");
    ck_assert_ptr_nonnull(output);
    ck_assert_int_eq(fscanf(output, "%" SCNx64, address_p), 1);
    ck_assert_int_eq(pclose(output), 0);
}

/* Arguments of the attacker. */
struct plan {
    char victim[TEXT];
    char text[TEXT]; /* address of the class */
};

/* Connects, passes the connection to a child, and execs the victim: the class
 * has the pid of what is now the victim. */
static int
become_victim(const struct parent *parent)
{
    struct plan plan;
    struct hello hello;
    int memory = make_ring_memory(), fds[2], end[2], ready[2];
    char byte;

    if (read(parent->in, &plan, sizeof(plan)) != sizeof(plan) ||
        pipe(end) != 0 || pipe(ready) != 0)
        return 1;
    become_other_user();
    int fd = connect_to(plan.text);
    hello = good_hello();
    if (write(parent->out, hello.name, sizeof(hello.name)) !=
        sizeof(hello.name))
        return 1;
    send_with(fd, &hello, sizeof(hello), &memory, 1);
    if (receive_with(fd, &hello, sizeof(hello), 0, fds, 2) < 0)
        return 1;
    if (fork() == 0) {
        close(end[0]);
        if (read(ready[0], &byte, 1) != 1)
            _exit(1);
        send_line(parent->out, "ready");
        expect_line(parent->in, "end");
        _exit(0); /* which disconnects it */
    }
    close(end[1]);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    dup2(end[0], STDIN_FILENO);
    dup2(ready[1], STDOUT_FILENO);
    execl(plan.victim, plan.victim, (char *) NULL);
    return 1;
}

START_TEST(other_user_after_exec_is_not_written_to)
{
    struct plan plan;
    char name[sizeof(((struct hello *) NULL)->name)];
    char peer_text[TEXT];
    unsigned char bytes[256], data[64];
    uint64_t size = sizeof(bytes), address, owner = 77;
    na_plugin_mem *local, *remote;
    na_plugin_segment segment = {.base = data, .length = sizeof(data)};
    struct child child = child_start(become_victim, NULL);

    install_victim(plan.victim, &address);
    memset(data, 0xEE, sizeof(data));
    open_both_as(&any_user);
    self_string(&hostile_target, plan.text);
    ck_assert_int_eq(write(child.out, &plan, sizeof(plan)), sizeof(plan));
    ck_assert_int_eq(read(child.in, name, sizeof(name)), sizeof(name));
    ck_assert_int_eq(fcntl(child.in, F_SETFL, O_NONBLOCK), 0);
    uint64_t deadline = now_ns() + UINT64_C(20000000000);
    while (read(child.in, peer_text, sizeof(peer_text)) < 0) {
        ck_assert_msg(now_ns() < deadline, "the victim does not start");
        pump();
    }
    /* a memory descriptor as a client would send it */
    ck_assert_int_eq(hostile_target.ops->mem_register(hostile_target.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, 3, 0, 0},
                         &local),
        NA_PLUGIN_OK);
    ck_assert_int_eq(hostile_target.ops->mem_serialize(
                         hostile_target.cls, local, bytes, &size),
        0);
    memcpy(bytes + AT_OWNER, &owner, sizeof(owner));
    memcpy(bytes + AT_BASE, &address, sizeof(address));
    ck_assert_int_eq(hostile_target.ops->mem_deserialize(
                         hostile_target.cls, bytes, size, &remote),
        NA_PLUGIN_OK);
    snprintf(peer_text, sizeof(peer_text), "sm://%s", name);
    na_plugin_addr *peer = lookup(&hostile_target, peer_text);
    void *op = op_new(&hostile_target);
    ck_assert_int_eq(hostile_target.ops->put(hostile_target.ctx[0], op, local,
                         0, remote, 0, sizeof(data), peer, 0, 0),
        NA_PLUGIN_E_PERMISSION);
    ck_assert_int_eq(fcntl(child.in, F_SETFL, 0), 0);
    send_line(child.out, "end");
    /* it exits with 3 if its memory was written to */
    child_join(&child);
    ck_assert_int_eq(unlink(plan.victim), 0);
    node_warnings(&hostile_target);
    hostile_target.ops->mem_remote_free(hostile_target.cls, remote);
    hostile_target.ops->mem_deregister(hostile_target.cls, local);
    hostile_target.ops->addr_free(hostile_target.cls, peer);
    free(op);
    close_both();
}
END_TEST

/* Whether the kernel executes the victim directly, even if this program runs in
 * an emulator. */
static bool
victim_runs(void)
{
    const char *from = getenv("SM_VICTIM");
    char command[4 * TEXT];

    if (from == NULL)
        return true; /* and fails */
    snprintf(command, sizeof(command), "'%s' --address >/dev/null 2>&1", from);
    int status = system(command);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 126;
}

int
main(void)
{
    TCase *cases = tcase_create("other_user");
    bool floods = descriptors_without_room_are_closed();

    if (floods)
        tcase_add_test(cases, other_user_connected_leaks_no_descriptors);
    else
        puts("skipped: leaves_no_descriptors: the receiver of a packet gets "
             "more "
             "descriptors than there is room for");
    if (geteuid() != 0) {
        puts("skipped: another user needs root, to become one");
        return run_cases("other_user", &cases, 1);
    }
    if (floods) {
        tcase_add_test(cases, other_user_not_admitted_leaks_no_descriptors);
        tcase_add_test(cases, other_user_admitted_leaks_no_descriptors);
    }
    tcase_add_test(cases, other_user_connections_are_limited);
    tcase_add_test(cases, other_user_gets_a_ring_only);
    if (victim_runs())
        tcase_add_test(cases, other_user_after_exec_is_not_written_to);
    else
        puts("skipped: another_program: the kernel does not run it by itself");
    return run_cases("other_user", &cases, 1);
}

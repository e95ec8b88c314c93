/* SPDX-License-Identifier: BSD-3-Clause */
/* Closing a class while callers connect to it. UCX's thread accepts them, so they
 * send at any moment of the close; the bytes are those of a real caller. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "counts.h"
#include "entries.h"
#include "fixture.h"

#define CALLERS 32U      /* connected when the class is closed */
#define LATE_MOST 64U    /* that connect meanwhile, at a time */
#define CALL_MOST 8192U  /* bytes of a caller's first message */
#define QUIET_US 200000U /* a caller that is silent for as long has sent all */
#define DELAYS 16U       /* of the first byte, DELAY_US apart */
#define DELAY_US 40U
#define DESCRIPTORS 4096 /* of this process, at most */

/* What a caller sends once it is connected. */
struct call {
    unsigned char bytes[CALL_MOST];
    size_t length;
};

/* How a class is closed. */
struct way {
    const char *host;
    bool filters; /* at sockets are permitted */
};

static const struct way ways[] = {
    {"127.0.0.1", true}, {"127.0.0.1", false}, {"::1", false}};

struct callers {
    const struct call *call;
    int fds[CALLERS];
    const char *host;
    uint32_t port;
    uint32_t delay_us;
    pthread_barrier_t begin;
    atomic_bool closed;
};

static socklen_t
address_of(const char *host, uint32_t port, struct sockaddr_storage *address)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *) address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *) address;

    memset(address, 0, sizeof(*address));
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t) port);
        return sizeof(*v4);
    }
    ck_assert_int_eq(inet_pton(AF_INET6, host, &v6->sin6_addr), 1);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((uint16_t) port);
    return sizeof(*v6);
}

/* A socket that is connected, or is being connected with SOCK_NONBLOCK in flags; or
 * -1 in that case, if the class has accepted as many as this process may have
 * descriptors. */
static int
connect_to(const char *host, uint32_t port, int flags)
{
    struct sockaddr_storage where;
    socklen_t length = address_of(host, port, &where);
    int fd = socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

    if (fd < 0 && flags != 0 && errno == EMFILE)
        return -1;
    ck_assert_int_ge(fd, 0);
    if (connect(fd, (const struct sockaddr *) &where, length) != 0)
        ck_assert_int_ne(flags, 0);
    return fd;
}

/* Reads what a raw peer sends when it calls. */
static void
record_call(struct call *call)
{
    struct timeval quiet = {.tv_usec = QUIET_US};
    struct side *const none[] = {NULL};
    struct sockaddr_in where = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(where);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct raw_peer raw;
    ssize_t got;

    ck_assert_int_eq(bind(listener, (struct sockaddr *) &where, size), 0);
    ck_assert_int_eq(
        getsockname(listener, (struct sockaddr *) &where, &size), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    memset(&raw, 0, sizeof(raw));
    raw_peer_open(&raw, fixture_protocol());
    raw_peer_call(&raw, ntohs(where.sin_port));
    for (uint64_t until = now_ms() + 200; now_ms() < until;)
        raw_peer_progress(&raw, none);
    int fd = accept(listener, NULL, NULL);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &quiet, sizeof(quiet)), 0);
    while ((got = read(
                fd, call->bytes + call->length, CALL_MOST - call->length)) > 0)
        call->length += (size_t) got;
    ck_assert_uint_gt(call->length, 8);
    ck_assert_uint_lt(call->length, CALL_MOST);
    close(fd);
    close(listener);
    raw_peer_close(&raw);
}

/* Others connect, send all, and are replaced by the next ones. */
static void
call_late(struct callers *callers)
{
    const struct call *call = callers->call;
    int fds[LATE_MOST];
    uint32_t count = 0;

    while (!atomic_load(&callers->closed)) {
        if (count >= LATE_MOST)
            close(fds[count % LATE_MOST]);
        int fd = connect_to(callers->host, callers->port, SOCK_NONBLOCK);
        if (fd >= 0)
            send(fd, call->bytes, call->length, MSG_NOSIGNAL);
        fds[count++ % LATE_MOST] = fd;
    }
    for (uint32_t i = 0; i < count && i < LATE_MOST; i++)
        close(fds[i]);
}

/* Sends by callers in turn: nothing, a half of the call, all of it, all in two
 * parts. */
static void *
send_calls(void *arg)
{
    struct callers *callers = arg;
    const struct call *call = callers->call;
    size_t half = call->length / 2;

    pthread_barrier_wait(&callers->begin);
    usleep(callers->delay_us);
    for (uint32_t i = 0; i < CALLERS; i++) {
        int fd = callers->fds[i];
        if (i % 4 == 1 || i % 4 == 3)
            send(fd, call->bytes, half, MSG_NOSIGNAL);
        if (i % 4 == 2)
            send(fd, call->bytes, call->length, MSG_NOSIGNAL);
        if (i % 4 == 3)
            send(fd, call->bytes + half, call->length - half, MSG_NOSIGNAL);
    }
    call_late(callers);
    return NULL;
}

/* Waits for the other side to close a connection. */
static void
await_closed(int fd)
{
    struct timeval limit = {.tv_sec = SIDE_WAIT_MS / 1000};
    char byte[64];
    ssize_t got;

    ck_assert_int_eq(
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
    while ((got = read(fd, byte, sizeof(byte))) > 0)
        continue;
    if (got < 0)
        ck_assert_int_eq(errno, ECONNRESET);
}

static uint32_t
port_of(struct side *side)
{
    char name[SIDE_TEXT];

    side_name(side, name);
    return (uint32_t) strtoul(strrchr(name, ':') + 1, NULL, 10);
}

/* What a system does that permits filters at sockets to root only: refuses another
 * one at the listening socket. */
static void
lock_filter(const char *host, uint32_t port)
{
    struct sockaddr_storage wanted, at;
    socklen_t length = address_of(host, port, &wanted);
    const int on = 1;
    bool locked = false;

    for (int fd = 0; fd < DESCRIPTORS && !locked; fd++) {
        int listens = 0;
        socklen_t size = sizeof(listens), found = sizeof(at);
        memset(&at, 0, sizeof(at));
        locked =
            getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
            listens != 0 &&
            getsockname(fd, (struct sockaddr *) &at, &found) == 0 &&
            memcmp(&at, &wanted, length) == 0 &&
            setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &on, sizeof(on)) == 0;
    }
    ck_assert(locked);
}

/* One class, closed while its callers send. */
static void
close_while_called(
    const struct call *call, uint32_t delay_us, const struct way *way)
{
    struct callers callers = {
        .call = call, .delay_us = delay_us, .host = way->host};
    struct side side;
    pthread_t thread;

    memset(&side, 0, sizeof(side));
    side_open(&side, fixture_protocol(), way->host, 0, NA_PLUGIN_OPEN_LISTEN);
    uint32_t warnings = side.warnings; /* of an address that others reach */
    callers.port = port_of(&side);
    if (!way->filters)
        lock_filter(way->host, callers.port);
    for (uint32_t i = 0; i < CALLERS; i++)
        callers.fds[i] = connect_to(way->host, callers.port, 0);
    pthread_barrier_init(&callers.begin, NULL, 2);
    ck_assert_int_eq(pthread_create(&thread, NULL, send_calls, &callers), 0);
    pthread_barrier_wait(&callers.begin);
    side_close(&side);
    ck_assert_uint_eq(side.warnings, warnings);
    atomic_store(&callers.closed, true);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&callers.begin);
    for (uint32_t i = 0; i < CALLERS; i++) {
        await_closed(callers.fds[i]);
        close(callers.fds[i]);
    }
}

/* Containers may lack IPv6. */
static bool
has_address(const char *host)
{
    struct sockaddr_storage where;
    socklen_t length = address_of(host, 0, &where);
    int fd = socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has =
        fd >= 0 && bind(fd, (const struct sockaddr *) &where, length) == 0;

    if (fd >= 0)
        close(fd);
    return has;
}

/* Where a filter keeps new callers away, and where it is not permitted. */
START_TEST(class_is_closed_while_callers_connect)
{
    struct call call = {.length = 0};

    if (!has_address(ways[_i].host))
        return;
    record_call(&call);
    uint32_t before = count_descriptors();
    for (uint32_t i = 0; i < test_count(TEST_CLOSED_WHILE_CALLED); i++)
        close_while_called(&call, i % DELAYS * DELAY_US, &ways[_i]);
    ck_assert_uint_eq(count_descriptors(), before);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_loop_test(tcase, class_is_closed_while_callers_connect, 0,
        sizeof(ways) / sizeof(ways[0]));
}

int
main(int argc, char **argv)
{
    return fixture_main(argc, argv, "ucx closing", add);
}

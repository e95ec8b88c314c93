/* SPDX-License-Identifier: BSD-3-Clause */
/* Calling and answering. A caller passes its ring with the hello and may send
 * at once; the answer brings the ring of the other direction. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "address.h"
#include "clock.h"
#include "conn.h"
#include "connect.h"
#include "deliver.h"
#include "hello.h"
#include "mapping.h"
#include "memfd.h"
#include "refusal.h"
#include "sleepers.h"
#include "socket.h"

#define MILLISECOND UINT64_C(1000000)
#define RETRY_NS (1 * MILLISECOND)
#define CALL_TIMEOUT_NS (10000 * MILLISECOND) /* a backlog that stays full */
#define HELLO_TIMEOUT_NS (5000 * MILLISECOND) /* a caller that says nothing */
#define DEAF_NS (100 * MILLISECOND)           /* no descriptors left */
#define CALLED_MAX 256 /* callers without a hello at a time */
#define ACCEPTS 16     /* callers answered at a time */
#define EVENTS 32
#define DRAIN_ROUNDS 64 /* packets read at a time */
#define KERNEL_NS 20000 /* between two looks of a busy poller */
#define CONNECT_TRIES 4 /* a peer that is lost again and again meanwhile */
#define NUMBERS 65536   /* unique names tried */

/* Tags in the epoll set that are no connection. */
#define TAG_NAME 2U
#define TAG_ALIAS 4U

/* Watches the listening sockets, or stops that for a while. */
static int
listen_for(na_plugin_class *cls, int operation, uint32_t events)
{
    struct epoll_event name = {.events = events, .data.u64 = TAG_NAME};
    struct epoll_event alias = {.events = events, .data.u64 = TAG_ALIAS};

    if (!cls->listens)
        return 0;
    if (epoll_ctl(cls->epoll, operation, cls->name_fd, &name) != 0 ||
        (cls->alias_fd >= 0 &&
            epoll_ctl(cls->epoll, operation, cls->alias_fd, &alias) != 0))
        return errno;
    return 0;
}

/* Binds the unique name: the next number that nobody has. Numbers are not used
 * again, so that a class is not taken for the one before it. */
static int32_t
bind_unique(na_plugin_class *cls, const char *prefix)
{
    static _Atomic uint32_t numbers;
    char name[SM_NAME_MAX + 1];
    int error = EADDRINUSE;

    for (uint32_t i = 0; i < NUMBERS && error == EADDRINUSE; i++) {
        uint32_t number =
            atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed);
        snprintf(name, sizeof(name), "%s%s%d-%" PRIu32,
            prefix != NULL ? prefix : "", prefix != NULL ? "-" : "",
            (int) getpid(), number);
        error = sm_socket_bind(name, cls->listens, &cls->name_fd);
    }
    if (error == 0)
        return sm_addr_get(cls, name, strlen(name), &cls->self);

    TP_LOG(cls->host, ERROR, "cannot bind a socket to %s: %s", name,
        strerror(error));
    return error == EADDRINUSE ? NA_PLUGIN_E_ADDRINUSE
                               : NA_PLUGIN_E_ADDRNOTAVAIL;
}

int32_t
sm_connect_init(na_plugin_class *cls, const char *prefix)
{
    cls->name_fd = cls->alias_fd = -1;
    int32_t ret = bind_unique(cls, prefix);
    if (ret != NA_PLUGIN_OK)
        return ret;

    if (cls->listens && prefix != NULL) {
        int error = sm_socket_bind(prefix, true, &cls->alias_fd);
        if (error == 0)
            snprintf(cls->alias, sizeof(cls->alias), "%s", prefix);
        else
            TP_LOG(cls->host, INFO,
                "sm://%s is not this class but another (%s); this is sm://%s",
                prefix, strerror(error), cls->self->name);
    }

    int error = listen_for(cls, EPOLL_CTL_ADD, EPOLLIN);
    if (error != 0) {
        TP_LOG(cls->host, ERROR, "cannot watch sm://%s: %s", cls->self->name,
            strerror(error));
        return NA_PLUGIN_E_NOMEM;
    }
    return NA_PLUGIN_OK;
}

void
sm_connect_fini(na_plugin_class *cls)
{
    listen_for(cls, EPOLL_CTL_DEL, 0);
    sm_socket_close(cls->name_fd);
    sm_socket_close(cls->alias_fd);
    cls->name_fd = cls->alias_fd = -1;
}

/* Whether a process that uses Mercury has, or had, this name: the file of its
 * shared memory is there. */
static bool
is_mercury(const char *name)
{
    char path[sizeof("/dev/shm/na_sm-") + SM_NAME_MAX];
    int length = snprintf(path, sizeof(path), "/dev/shm/na_sm-%s", name);

    return length > 0 && (size_t) length < sizeof(path) &&
           strchr(name, '/') == NULL && access(path, F_OK) == 0;
}

static void
say_nobody(na_plugin_class *cls, const char *name, int error)
{
    if (is_mercury(name))
        TP_LOG(cls->host, ERROR,
            "sm://%s: no process of Talaria's is there (%s), but one that uses "
            "Mercury, by its file /dev/shm/na_sm-%s: it cannot be reached",
            name, strerror(error), name);
    else
        TP_LOG(cls->host, INFO, "sm://%s: nobody there (%s)", name,
            strerror(error));
}

/* What a failing system call on the way to a peer means to the caller. */
static int32_t
call_error(na_plugin_class *cls, const char *name, int error)
{
    if (error == EAGAIN || error == ETOOMANYREFS || error == EINTR)
        return NA_PLUGIN_E_AGAIN;
    if (error == ECONNREFUSED || error == EPIPE || error == ECONNRESET ||
        error == ESRCH) {
        say_nobody(cls, name, error);
        return NA_PLUGIN_E_HOSTUNREACH;
    }
    if (error == EKEYREJECTED) /* has been said */
        return NA_PLUGIN_E_PERMISSION;
    TP_LOG(cls->host, ERROR, "cannot connect to sm://%s: %s", name,
        sm_memfd_error(error));
    if (error == EACCES || error == EPERM)
        return NA_PLUGIN_E_PERMISSION;
    if (error == EMFILE || error == ENFILE || error == ENOMEM ||
        error == ENOBUFS || error == EFBIG)
        return NA_PLUGIN_E_NOMEM;
    return NA_PLUGIN_E_IO_ERROR;
}

/* Gives a connection its ring; the memory to be passed in *ring_p. An errno. */
static int
make_ring(na_plugin_class *cls, struct sm_conn *conn, int *ring_p)
{
    struct sm_ring_tx tx;
    int error = sm_ring_create(&tx, cls->ring_capacity, ring_p);
    if (error != 0)
        return error;
    tp_lock_take(&conn->lock);
    conn->tx = tx;
    tp_lock_drop(&conn->lock);
    return 0;
}

/* Calls a connection's peer: socket, ring, hello. AGAIN when its backlog is
 * full; whatever is there already is the caller's to end. */
static int32_t
call(na_plugin_class *cls, struct sm_conn *conn)
{
    const char *name = conn->called->name;
    struct sm_process process = {.pidfd = -1};
    int fd = -1;
    int ring = -1;

    int error = sm_socket_connect(name, &fd);
    if (error == 0)
        error = sm_socket_process(fd, &process);
    /* a forked child may hold the listening socket of a dead peer */
    if (error == 0 && process.dead)
        error = ESRCH;
    if (error == 0 && !sm_access_admits(cls, &process)) {
        TP_LOG(cls->host, ERROR,
            "sm://%s belongs to user %d, and this class, of user %d, was not "
            "opened for any (na+sm://any/)",
            name, (int) process.uid, (int) cls->uid);
        error = EKEYREJECTED;
    }
    if (error == 0)
        error = make_ring(cls, conn, &ring);
    if (error == 0)
        error = sm_hello_send(cls, fd, ring, &process, 0);
    if (ring >= 0)
        close(ring);
    if ((error == EPIPE || error == ECONNRESET) && sm_refusal_received(fd)) {
        sm_refusal_log(cls, name);
        error = EKEYREJECTED;
    }
    if (error == 0 && sm_conn_attach(cls, conn, fd, &process) != NA_PLUGIN_OK)
        return call_error(cls, name, ENOMEM);
    if (error == 0) {
        sm_conn_move(conn, SM_CONN_CALLING);
        return NA_PLUGIN_OK;
    }

    tp_lock_take(&conn->lock);
    sm_ring_close_tx(&conn->tx);
    tp_lock_drop(&conn->lock);
    sm_socket_close(fd);
    if (process.pidfd >= 0)
        close(process.pidfd);
    return call_error(cls, name, error);
}

int32_t
sm_connect_to(na_plugin_class *cls, na_plugin_addr *addr)
{
    int32_t ret = NA_PLUGIN_OK;

    tp_lock_take(&cls->progress);
    if (atomic_load_explicit(&addr->conn, memory_order_relaxed) != NULL)
        goto drop_lock;

    struct sm_conn *conn = sm_conn_make(cls);
    ret = NA_PLUGIN_E_NOMEM;
    if (conn == NULL)
        goto drop_lock;
    sm_addr_hold(cls, addr);
    conn->called = addr;
    ret = call(cls, conn);
    if (ret == NA_PLUGIN_E_AGAIN && !cls->no_retry) {
        uint64_t now = sm_now();
        sm_conn_move(conn, SM_CONN_RETRY);
        conn->retry_ns = now + RETRY_NS;
        conn->deadline_ns = now + CALL_TIMEOUT_NS;
        cls->retries++;
        ret = NA_PLUGIN_OK;
    }
    if (ret != NA_PLUGIN_OK) {
        sm_conn_end(cls, conn, ret);
        goto drop_lock;
    }
    /* release: pairs with the acquire of a sender */
    atomic_store_explicit(&addr->conn, conn, memory_order_release);

drop_lock:
    tp_lock_drop(&cls->progress);
    return ret;
}

int32_t
sm_connect_lock(
    na_plugin_class *cls, na_plugin_addr *peer, struct sm_conn **conn_p)
{
    for (int i = 0; i < CONNECT_TRIES; i++) {
        /* acquire: pairs with the release where connections are made */
        struct sm_conn *conn =
            atomic_load_explicit(&peer->conn, memory_order_acquire);
        if (conn == NULL) {
            int32_t ret = sm_connect_to(cls, peer);
            if (ret != NA_PLUGIN_OK)
                return ret;
            continue;
        }
        tp_lock_take(&conn->lock);
        if (atomic_load_explicit(&peer->conn, memory_order_relaxed) == conn) {
            *conn_p = conn;
            return NA_PLUGIN_OK;
        }
        tp_lock_drop(&conn->lock);
    }
    return NA_PLUGIN_E_HOSTUNREACH;
}

/* Tries those again whose peers had no room, and gives up on some. */
static void
retry(na_plugin_class *cls, uint64_t now)
{
    struct sm_conn *next;

    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = next) {
        next = conn->next;
        if (conn->state == SM_CONN_CALLED && now >= conn->deadline_ns) {
            sm_conn_end(cls, conn, NA_PLUGIN_E_TIMEOUT);
            continue;
        }
        if (conn->state != SM_CONN_RETRY || now < conn->retry_ns)
            continue;
        int32_t ret = call(cls, conn);
        if (ret == NA_PLUGIN_OK) {
            cls->retries--;
        } else if (ret != NA_PLUGIN_E_AGAIN) {
            sm_conn_end(cls, conn, ret);
        } else if (now >= conn->deadline_ns) {
            TP_LOG(cls->host, INFO, "sm://%s accepts no connection",
                conn->called->name);
            sm_conn_end(cls, conn, NA_PLUGIN_E_HOSTUNREACH);
        } else {
            conn->retry_ns = now + RETRY_NS;
        }
    }
}

/* What the kernel said of the process at the other end. */
static struct sm_process
process_of(const struct sm_conn *conn)
{
    return (struct sm_process){
        .pid = conn->pid, .uid = conn->uid, .pidfd = conn->pidfd};
}

static bool
proven(const na_plugin_class *cls, const struct sm_conn *conn,
    const struct sm_hello *hello, bool answer)
{
    return sm_access_proven(cls, conn->pid, hello->owner, answer, hello->proof);
}

static void lose(
    na_plugin_class *cls, struct sm_conn *conn, struct sm_batch *batch);

/* Ends the caller's former connection if the caller has closed it: answers would
 * go there until its end is noticed. */
static void
lose_former(
    na_plugin_class *cls, const struct sm_hello *hello, struct sm_batch *batch)
{
    na_plugin_addr *peer;

    if (sm_addr_get(cls, hello->name, hello->name_length, &peer) !=
        NA_PLUGIN_OK)
        return;
    struct sm_conn *former =
        atomic_load_explicit(&peer->conn, memory_order_relaxed);
    if (former != NULL && former->fd >= 0 && sm_socket_ended(former->fd))
        lose(cls, former, batch);
    sm_addr_release(cls, peer);
}

/* Answers the hello of a caller: its ring is read from here on, and it gets one
 * to read from. Whatever is wrong with it, it alone is told. */
static void
answer(na_plugin_class *cls, struct sm_conn *conn, struct sm_hello *hello,
    const struct sm_hello_fds *fds, struct sm_batch *batch)
{
    struct sm_process process = process_of(conn);
    int ring = -1;

    if (hello->major != SM_HELLO_MAJOR) {
        sm_hello_refuse(cls, conn->fd, NA_PLUGIN_E_PROTONOSUPPORT);
        TP_LOG(cls->host, WARNING,
            "process %d speaks version %u of the protocol, this class %d",
            (int) conn->pid, hello->major, SM_HELLO_MAJOR);
        sm_conn_end(cls, conn, NA_PLUGIN_E_PROTOCOL_ERROR);
        return;
    }

    int error = 0;
    const char *wrong = sm_hello_check(hello, &process);
    if (wrong == NULL && !proven(cls, conn, hello, false)) {
        sm_refusal_send(
            cls, conn->fd, &process, "it does not have this class's key");
        sm_conn_end(cls, conn, NA_PLUGIN_E_PERMISSION);
        return;
    }
    if (wrong == NULL) {
        error = make_ring(cls, conn, &ring);
        if (error != 0)
            wrong = sm_memfd_error(error);
    }
    if (wrong == NULL) {
        lose_former(cls, hello, batch);
        sm_conn_move(conn, SM_CONN_FREE);
        cls->called--;
        wrong = sm_conn_begin(cls, conn, hello, fds);
    }
    /* a caller that has gone already will show as such */
    if (wrong == NULL) {
        error = sm_hello_send(cls, conn->fd, ring, &process, hello->owner);
        if (error != 0 && error != EPIPE && error != ECONNRESET)
            wrong = strerror(error);
    } else {
        sm_hello_refuse(cls, conn->fd, NA_PLUGIN_E_PROTOCOL_ERROR);
    }
    if (ring >= 0)
        close(ring);
    if (wrong != NULL)
        sm_conn_break(cls, conn, wrong);
}

/* The answer to a call of ours. */
static void
take_answer(na_plugin_class *cls, struct sm_conn *conn, struct sm_hello *hello,
    const struct sm_hello_fds *fds)
{
    struct sm_process process = process_of(conn);
    const char *wrong;

    if (hello->major == SM_HELLO_MAJOR &&
        hello->status == NA_PLUGIN_E_PERMISSION) {
        sm_refusal_log(cls, sm_conn_name(conn));
        sm_conn_end(cls, conn, NA_PLUGIN_E_PERMISSION);
        return;
    }
    if (hello->major != SM_HELLO_MAJOR)
        wrong = "it speaks another version of the protocol";
    else if (hello->status != NA_PLUGIN_OK)
        wrong = "it has refused this class";
    else
        wrong = sm_hello_check(hello, &process);
    if (wrong == NULL && !proven(cls, conn, hello, true)) {
        TP_LOG(cls->host, ERROR, "%s does not hold the key of this class",
            sm_conn_name(conn));
        sm_conn_end(cls, conn, NA_PLUGIN_E_PERMISSION);
        return;
    }
    if (wrong == NULL)
        wrong = sm_conn_begin(cls, conn, hello, fds);
    if (wrong != NULL)
        sm_conn_break(cls, conn, wrong);
}

/* Reads wake-ups away, all or one, and takes memory that the peer shares; false
 * when it has hung up. What is left stays readable. */
static bool
drain(na_plugin_class *cls, struct sm_conn *conn, bool all)
{
    const char *wrong = NULL;
    int got = 1;
    bool woken = false;

    for (int i = 0;
         i < DRAIN_ROUNDS && got > 0 && wrong == NULL && (all || !woken); i++) {
        struct sm_mapping_packet packet = {0};
        int shared = -1;
        /* an area comes on request alone */
        got = sm_socket_next(conn->fd, &packet, sizeof(packet), &shared,
            sm_mapping_any_wanted(conn) ? 1 : 0);
        if (got == (int) sizeof(packet))
            wrong = sm_mapping_take(cls, conn, &packet, shared);
        else if (got > 1)
            wrong = "unexpected packet";
        woken = woken || got == 1;
        if (got > 0)
            sm_socket_close_passed(&shared, 1);
    }
    if (woken) {
        conn->wakeup_due = false;
        sm_sleepers_pass_on(cls, conn);
    }
    if (wrong != NULL)
        sm_conn_break(cls, conn, wrong);
    return wrong != NULL || got >= 0;
}

void
sm_connect_take_wakeup(na_plugin_class *cls, struct sm_conn *conn)
{
    conn->wakeup_due = true;
    sm_conn_heat(cls, conn);
    /* one for each sleep: to look for another costs a system call */
    if (!drain(cls, conn, false))
        sm_kernel_due(cls);
}

/* Reads from a connection's socket; false when the peer has hung up. */
static bool
read_socket(na_plugin_class *cls, struct sm_conn *conn, struct sm_batch *batch)
{
    struct sm_hello hello;
    struct sm_hello_fds fds;

    if (conn->state == SM_CONN_UP) {
        sm_conn_heat(cls, conn);
        return drain(cls, conn, true);
    }

    int got = sm_hello_recv(conn->fd, &hello, &fds);
    if (got <= 0)
        return got == 0;
    if (conn->state == SM_CONN_CALLED)
        answer(cls, conn, &hello, &fds, batch);
    else
        take_answer(cls, conn, &hello, &fds);
    sm_hello_close(&fds);
    return true;
}

/* A peer has hung up or died: what it left in the ring is delivered first, also
 * if its hello is still to be read. */
static void
lose(na_plugin_class *cls, struct sm_conn *conn, struct sm_batch *batch)
{
    if (conn->state == SM_CONN_CALLED)
        read_socket(cls, conn, batch);
    if (conn->state == SM_CONN_FREE)
        return;

    TP_LOG(cls->host, DEBUG, "%s (process %d) is gone", sm_conn_name(conn),
        (int) conn->pid);
    if (conn->state == SM_CONN_UP && !sm_deliver_all(cls, conn, batch))
        return;
    sm_conn_end(cls, conn, NA_PLUGIN_E_HOSTUNREACH);
}

/* Too many callers have not said hello: the first of them has had its time. */
static void
drop_oldest_caller(na_plugin_class *cls)
{
    struct sm_conn *oldest = NULL;
    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next)
        if (conn->state == SM_CONN_CALLED)
            oldest = conn;
    if (oldest != NULL)
        sm_conn_end(cls, oldest, NA_PLUGIN_E_TIMEOUT);
}

/* Why a caller may not come in, NULL if it may. */
static const char *
unwelcome(const na_plugin_class *cls, const struct sm_process *process)
{
    uint32_t count = 0;

    if (!sm_access_admits(cls, process))
        return "it is another user's";
    if (process->uid == cls->uid)
        return NULL;
    for (const struct sm_conn *conn = cls->conns; conn != NULL;
         conn = conn->next)
        count += conn->uid == process->uid;
    return count < cls->user_connections ? NULL
                                         : "its user has enough connections";
}

/* Takes a new caller in. */
static void
admit(na_plugin_class *cls, int fd, uint64_t now, struct sm_batch *batch)
{
    struct sm_process process;
    struct sm_conn *conn = NULL;

    if (sm_socket_process(fd, &process) == 0) {
        const char *why = unwelcome(cls, &process);
        if (why == NULL)
            conn = sm_conn_make(cls);
        else
            sm_refusal_send(cls, fd, &process, why);
        if (conn == NULL && process.pidfd >= 0)
            close(process.pidfd);
    }
    if (conn == NULL) {
        sm_socket_close(fd);
        return;
    }

    if (cls->called >= CALLED_MAX)
        drop_oldest_caller(cls);
    sm_conn_move(conn, SM_CONN_CALLED);
    cls->called++;
    conn->deadline_ns = now + HELLO_TIMEOUT_NS;
    if (sm_conn_attach(cls, conn, fd, &process) != NA_PLUGIN_OK) {
        sm_conn_end(cls, conn, NA_PLUGIN_E_NOMEM);
        return;
    }
    if (!read_socket(cls, conn, batch) || process.dead)
        lose(cls, conn, batch);
}

/* Accepts callers. Without descriptors for them, the sockets are left alone
 * for a while, lest they keep everyone awake. */
static void
accept_callers(
    na_plugin_class *cls, int listener, uint64_t now, struct sm_batch *batch)
{
    int fd;
    int error = 0;

    for (int i = 0; i < ACCEPTS; i++) {
        error = sm_socket_accept(listener, &fd);
        if (error != 0)
            break;
        admit(cls, fd, now, batch);
    }
    if (error != EMFILE && error != ENFILE && error != ENOMEM &&
        error != ENOBUFS)
        return;
    TP_LOG(cls->host, WARNING, "sm://%s cannot accept a connection: %s",
        cls->self->name, strerror(error));
    listen_for(cls, EPOLL_CTL_MOD, 0);
    cls->deaf_until_ns = now + DEAF_NS;
}

void
sm_connect_check(na_plugin_class *cls, uint64_t now, struct sm_batch *batch)
{
    struct epoll_event events[EVENTS];

    sm_conn_recycle(cls);
    int count = epoll_wait(cls->epoll, events, EVENTS, 0);
    for (int i = 0; i < count; i++) {
        uint64_t tag = events[i].data.u64;
        if (tag == TAG_NAME || tag == TAG_ALIAS) {
            accept_callers(cls, tag == TAG_NAME ? cls->name_fd : cls->alias_fd,
                now, batch);
            continue;
        }
        struct sm_conn *conn =
            (struct sm_conn *) (uintptr_t) (tag & ~UINT64_C(1));
        /* it may have ended by an event before this one */
        if (conn->state == SM_CONN_FREE)
            continue;
        if ((tag & 1) != 0 || !read_socket(cls, conn, batch))
            lose(cls, conn, batch);
    }

    if (cls->retries != 0 || cls->called != 0)
        retry(cls, now);
    if (cls->deaf_until_ns != 0 && now >= cls->deaf_until_ns) {
        listen_for(cls, EPOLL_CTL_MOD, EPOLLIN);
        cls->deaf_until_ns = 0;
    }
    cls->kernel_due = false;
    if (count == EVENTS)
        sm_kernel_due(cls);
    cls->now_ns = now;
    cls->kernel_ns = now + KERNEL_NS;
}

uint64_t
sm_connect_sleep(const na_plugin_class *cls)
{
    if (cls->retries != 0)
        return RETRY_NS;
    if (cls->deaf_until_ns != 0)
        return DEAF_NS;
    return cls->called != 0 ? HELLO_TIMEOUT_NS : UINT64_MAX;
}

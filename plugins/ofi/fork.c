/* SPDX-License-Identifier: BSD-3-Clause */
/* libfabric opens sockets without close-on-exec, and does not tell which. They
 * are known by their ends: a class's own port, or a peer's address. */
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fork.h"
#include "name.h"
#include "peer.h"
#include "progress.h"
#include "receive.h"

#define SCAN_NS (20 * OFI_MS) /* between two looks at all descriptors */
#define TAKES 64U             /* batches of completions at once */
#define NUMBERS (sizeof(((struct ofi_fork_fds *) 0)->there) * 8)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static na_plugin_class *classes;

/* Nothing but system calls, as it is also used in a child. */
void
ofi_fork_each_fd(
    int folder, void (*visit)(int fd, const void *arg), const void *arg)
{
    struct entry {
        uint64_t inode;
        int64_t offset;
        unsigned short length;
        unsigned char type;
        char name[];
    };
    alignas(8) char bytes[2048];
    long got = 0;

    if (lseek(folder, 0, SEEK_SET) != 0)
        return;
    while ((got = syscall(SYS_getdents64, folder, bytes, sizeof(bytes))) > 0)
        for (long at = 0; at < got;) {
            const struct entry *entry = (const void *) (bytes + at);
            int fd = 0;
            at += entry->length;
            if (entry->name[0] < '0' || entry->name[0] > '9')
                continue;
            for (const char *c = entry->name; *c != '\0'; c++)
                fd = fd * 10 + (*c - '0');
            if (fd != folder)
                visit(fd, arg);
        }
}

/* Calls for each open descriptor. */
static void
each_fd(void (*visit)(int fd, const void *arg), const void *arg)
{
    int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder < 0)
        return;
    ofi_fork_each_fd(folder, visit, arg);
    close(folder);
}

static bool
is_peer(const na_plugin_class *cls, const struct ofi_name *name)
{
    uint32_t hash = ofi_name_hash(name);
    const na_plugin_addr *addr =
        cls->names_size == 0 ? NULL : cls->names[hash & (cls->names_size - 1)];

    while (
        addr != NULL && (addr->at != 0 || !ofi_name_equal(&addr->name, name)))
        addr = addr->next;
    for (struct ofi_link *link = cls->ends.head; addr == NULL && link != NULL;
         link = link->next)
        if (ofi_name_equal(OFI_OBJECT(link, na_plugin_addr, by_end)->end, name))
            return true;
    return addr != NULL;
}

static na_plugin_addr *
find_peer(const na_plugin_class *cls, const na_plugin_class *other)
{
    uint32_t hash = other->self->hash;
    na_plugin_addr *peer =
        cls->names_size == 0 ? NULL : cls->names[hash & (cls->names_size - 1)];

    while (peer != NULL &&
           (peer->at != 0 || !ofi_name_equal(&peer->name, &other->self->name)))
        peer = peer->next;
    return peer;
}

/* Takes what has come for a class, whoever polls it. [lock of the class] */
static void
take_all(na_plugin_class *cls)
{
    for (uint32_t i = 0; i < TAKES && ofi_progress_read(cls) != 0; i++)
        if (cls->unposted.head != NULL)
            ofi_rx_retry(cls);
}

/* A class of the same node that is about to go: its shared memory, which
 * libfabric uses directly within a process, must not be touched any more. Its
 * place among libfabric's addresses is not given to another, who would get what
 * is left of it. False: libfabric will touch it. */
static bool
mourn(na_plugin_class *cls, const na_plugin_class *gone)
{
    bool free_of_it = true;

    ofi_lock_take(&cls->lock);
    take_all(cls);
    na_plugin_addr *peer = find_peer(cls, gone);
    if (peer != NULL) {
        free_of_it = peer->flying.head == NULL;
        for (struct ofi_link *link = peer->jobs.head; link != NULL;
             link = link->next)
            if (OFI_OBJECT(link, struct ofi_job, by_peer)->flying != 0)
                free_of_it = false;
        ofi_peer_lose(cls, peer, NA_PLUGIN_E_HOSTUNREACH, "it was closed");
        peer->gone = true;
    }
    ofi_lock_drop(&cls->lock);
    return free_of_it;
}

/* Names of classes of the node that were closed here. libfabric takes such a
 * name for that of memory that is there still (smr_map_to_region), also in a
 * forked child. None is given twice. */
struct closed {
    struct closed *next;
    struct ofi_name name;
};
static struct closed *_Atomic closed;

static void
remember(const struct ofi_name *name)
{
    struct closed *one = malloc(sizeof(*one));

    if (one == NULL)
        return;
    one->name = *name;
    one->next = atomic_load_explicit(&closed, memory_order_relaxed);
    /* release: pairs with ofi_fork_was_closed. The lock is held. */
    atomic_store_explicit(&closed, one, memory_order_release);
}

bool
ofi_fork_was_closed(const struct ofi_name *name)
{
    /* acquire: pairs with remember */
    const struct closed *one =
        atomic_load_explicit(&closed, memory_order_acquire);

    while (one != NULL && !ofi_name_equal(&one->name, name))
        one = one->next;
    return one != NULL;
}

/* Whether a socket is one of libfabric's for this class. */
static bool
is_ours(const na_plugin_class *cls, int fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    struct ofi_name name;

    if (fd == cls->listener || (cls->valid != NULL && fd == cls->valid_fd))
        return true;
    if (cls->trait->format != OFI_FORMAT_IP ||
        getsockname(fd, (void *) &address, &length) != 0)
        return false;
    if (ofi_name_from_raw(cls->trait, &address, length, &name) &&
        ofi_name_equal(&name, &cls->own_name))
        return true;
    length = sizeof(address);
    return getpeername(fd, (void *) &address, &length) == 0 &&
           ofi_name_from_raw(cls->trait, &address, length, &name) &&
           is_peer(cls, &name);
}

static void
before_fork(void)
{
    pthread_mutex_lock(&lock);
    for (na_plugin_class *cls = classes; cls != NULL; cls = cls->next)
        ofi_lock_take(&cls->lock);
}

static void
after_fork(void)
{
    for (na_plugin_class *cls = classes; cls != NULL; cls = cls->next)
        ofi_lock_drop(&cls->lock);
    pthread_mutex_unlock(&lock);
}

static void
close_ours(int fd, const void *arg)
{
    (void) arg;
    for (const na_plugin_class *cls = classes; cls != NULL; cls = cls->next)
        if (is_ours(cls, fd)) {
            close(fd);
            return;
        }
}

static void
in_child(void)
{
    if (classes != NULL)
        each_fd(close_ours, NULL);
    after_fork();
}

static void
begin(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

static void
note(int fd, const void *arg)
{
    uint64_t *there = (void *) (uintptr_t) arg;

    if ((size_t) fd < NUMBERS)
        there[fd / 64] |= UINT64_C(1) << fd % 64;
}

void
ofi_fork_note(struct ofi_fork_fds *fds)
{
    memset(fds, 0, sizeof(*fds));
    each_fd(note, fds->there);
}

static void
set_close_on_exec(int fd)
{
    int flags = fcntl(fd, F_GETFD);

    if (flags >= 0 && !(flags & FD_CLOEXEC))
        fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

/* What appeared while libfabric was opening, and is no file of somebody's. */
static void
mark_new(int fd, const void *arg)
{
    const uint64_t *there = arg;
    struct stat status;

    if ((size_t) fd >= NUMBERS || (there[fd / 64] >> fd % 64 & 1) != 0)
        return;
    if (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode) &&
        !S_ISDIR(status.st_mode))
        set_close_on_exec(fd);
}

static void
mark_ours(int fd, const void *arg)
{
    if (is_ours(arg, fd))
        set_close_on_exec(fd);
}

void
ofi_fork_join(na_plugin_class *cls, const struct ofi_fork_fds *fds)
{
    each_fd(mark_new, fds->there);
    pthread_once(&once, begin);
    pthread_mutex_lock(&lock);
    cls->next = classes;
    classes = cls;
    pthread_mutex_unlock(&lock);
}

bool
ofi_fork_leave(na_plugin_class *cls)
{
    bool settled = true;

    pthread_mutex_lock(&lock);
    for (na_plugin_class **link = &classes; *link != NULL;
         link = &(*link)->next)
        if (*link == cls) {
            *link = cls->next;
            break;
        }
    if (cls->self != NULL && (cls->trait->flags & OFI_TRAIT_NODE) != 0) {
        remember(&cls->self->name);
        for (na_plugin_class *one = classes; one != NULL; one = one->next)
            if (one->trait == cls->trait && !mourn(one, cls))
                settled = false;
    }
    pthread_mutex_unlock(&lock);
    return settled;
}

void
ofi_fork_settle(na_plugin_class *cls)
{
    pthread_mutex_lock(&lock);
    for (na_plugin_class *one = classes; one != NULL; one = one->next) {
        if (one == cls || one->trait != cls->trait)
            continue;
        ofi_lock_take(&one->lock);
        take_all(one);
        ofi_lock_drop(&one->lock);
        ofi_lock_take(&cls->lock);
        na_plugin_addr *peer = find_peer(cls, one);
        if (peer != NULL)
            peer->here = true;
        ofi_lock_drop(&cls->lock);
    }
    pthread_mutex_unlock(&lock);
}

void
ofi_fork_scan(na_plugin_class *cls)
{
    uint64_t now = ofi_peer_now();

    if (now - cls->scanned_ns < SCAN_NS)
        return;
    each_fd(mark_ours, cls);
    cls->scanned_ns = now;
    cls->scan_due = false;
}

struct ofi_fork_socket {
    int fd;
    ino_t inode;
};

static void
list_accepted(int fd, const void *arg)
{
    struct ofi_fork_sockets *list = (void *) (uintptr_t) arg;
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    struct ofi_name name;
    struct stat status;

    if (getsockname(fd, (void *) &address, &length) != 0 ||
        !ofi_name_from_raw(list->cls->trait, &address, length, &name) ||
        !ofi_name_equal(&name, &list->cls->own_name) || fstat(fd, &status) != 0)
        return;
    if (list->count == list->size) {
        uint32_t size = list->size == 0 ? 16 : 2 * list->size;
        void *more = realloc(list->sockets, size * sizeof(*list->sockets));
        if (more == NULL)
            return;
        list->sockets = more;
        list->size = size;
    }
    list->sockets[list->count++] =
        (struct ofi_fork_socket){.fd = fd, .inode = status.st_ino};
}

struct ofi_fork_sockets
ofi_fork_accepted(const na_plugin_class *cls)
{
    struct ofi_fork_sockets list = {.cls = cls};

    if (cls->trait->format == OFI_FORMAT_IP && cls->ep != NULL)
        each_fd(list_accepted, &list);
    return list;
}

/* Those that have not said yet what they are: nothing refers to them when their
 * listener is closed (1.17: tcpx_accept, and net's xnet_cm.c). */
void
ofi_fork_close_left(struct ofi_fork_sockets *accepted)
{
    struct stat status;

    for (uint32_t i = 0; i < accepted->count; i++) {
        const struct ofi_fork_socket *one = &accepted->sockets[i];
        if (fstat(one->fd, &status) == 0 && S_ISSOCK(status.st_mode) &&
            status.st_ino == one->inode)
            close(one->fd);
    }
    free(accepted->sockets);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory that processes which were killed have left behind. A peer that
 * takes an introduction from its queue looks for the sender's memory by name,
 * and crashes when it is not there (libfabric 1.17: smr_progress_connreq). So each
 * endpoint's file lists the peers of its class, and is removed when none of these
 * is left.
 *
 * The mark is a page behind what libfabric has of its file. Whoever makes the
 * file anew cuts that off: a mark is always of the process that made the file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../ofi.h"
#include "../peer.h"
#include "../probe.h"
#include "../quirk.h"
#include "shm_file.h"

#define MAGIC UINT64_C(0x6b72616d6961666f)
#define PEERS 500U
#define EVERYBODY UINT32_MAX /* more than that, or of other names */
#define TRIES 64U

/* Which processes see each other by number, and by local sockets. */
struct spaces {
    uint64_t numbers[4];
};

struct mark {
    uint64_t magic; /* written last */
    struct spaces spaces;
    uint32_t process;
    _Atomic uint32_t count;
    uint64_t peers[PEERS]; /* process << 32 | number of the endpoint */
};
_Static_assert(sizeof(struct mark) <= SHM_PAGE, "a mark is one page");

/* Of an endpoint's file. */
struct marked {
    struct marked *next;
    const struct fid_ep *fep;
    struct mark *page;
};

struct shm_files {
    struct marked *marks;
    uint32_t tries;
};

extern const struct ofi_quirk ofi_quirk_shm_files;

static struct shm_files *
data_of(const struct ofi_endpoint *ep)
{
    return ofi_quirk_data(ep, &ofi_quirk_shm_files);
}

static bool
find_spaces(struct spaces *spaces)
{
    static const char *const paths[] = {
        "/proc/self/ns/pid", "/proc/self/ns/net"};
    struct stat status;

    for (uint32_t i = 0; i < 2; i++) {
        if (stat(paths[i], &status) != 0)
            return false;
        spaces->numbers[(size_t) 2 * i] = status.st_dev;
        spaces->numbers[(size_t) 2 * i + 1] = status.st_ino;
    }
    return true;
}

/* OWN FILES */

/* Room for more. */
static void
drop_gone(struct mark *mark)
{
    uint32_t count = atomic_load_explicit(&mark->count, memory_order_relaxed);
    uint32_t left = 0;

    /* killed meanwhile, any process may be its peer */
    atomic_store(&mark->count, EVERYBODY);
    for (uint32_t i = 0; i < count; i++)
        if (!shm_is_gone(mark->peers[i]))
            mark->peers[left++] = mark->peers[i];
    if (left < PEERS)
        atomic_store(&mark->count, left);
}

static void
add_peer(struct mark *mark, uint64_t peer)
{
    uint32_t count = atomic_load_explicit(&mark->count, memory_order_relaxed);

    for (uint32_t i = 0; count != EVERYBODY && i < count; i++)
        if (mark->peers[i] == peer)
            return;
    if (count == PEERS) {
        drop_gone(mark);
        count = atomic_load_explicit(&mark->count, memory_order_relaxed);
    }
    if (count == EVERYBODY)
        return;
    mark->peers[count] = peer;
    atomic_store(&mark->count, count + 1);
}

/* The page behind the end of the file of this name; NULL: none. */
static struct mark *
map_page(const char *file)
{
    char path[sizeof(SHM_FOLDER) + OFI_NAME_MAX + 2];
    struct stat status;
    struct mark *page = MAP_FAILED;

    snprintf(path, sizeof(path), SHM_FOLDER "/%s", file);
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && status.st_size % SHM_PAGE == 0 &&
        fallocate(fd, 0, status.st_size, SHM_PAGE) == 0)
        page = mmap(NULL, SHM_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
            status.st_size);
    close(fd);
    return page == MAP_FAILED ? NULL : page;
}

static void
endpoint_opened(struct ofi_endpoint *ep, struct fid_ep *fep)
{
    struct shm_files *files = data_of(ep);
    char name[OFI_NAME_MAX + 1];
    struct shm_parts parts;
    struct spaces spaces;
    const char *file = shm_file_of(fep, name, &parts);

    files->tries = 0;
    if (file == NULL || !find_spaces(&spaces) ||
        (files->marks == NULL && fep != ep->fep)) /* its peers are not known */
        return;
    struct marked *marked = malloc(sizeof(*marked));
    struct mark *page = marked != NULL ? map_page(file) : NULL;
    if (page == NULL) {
        free(marked);
        return;
    }
    *marked = (struct marked){.next = files->marks, .fep = fep, .page = page};
    if (files->marks != NULL)
        memcpy(page, files->marks->page, sizeof(*page));
    page->spaces = spaces;
    page->process = parts.process;
    atomic_thread_fence(memory_order_seq_cst);
    page->magic = MAGIC;
    files->marks = marked;
}

static void
endpoint_closing(struct ofi_endpoint *ep, struct fid_ep *fep)
{
    struct marked **link = &data_of(ep)->marks;

    while (*link != NULL && (*link)->fep != fep)
        link = &(*link)->next;
    struct marked *marked = *link;
    if (marked == NULL)
        return;
    *link = marked->next;
    munmap(marked->page, SHM_PAGE);
    free(marked);
}

/* Files of these names were left by a process that was killed, and had the number
 * that this one has now. libfabric takes them for its own, and removes them; the
 * next try has another name. */
static bool
retry_endpoint(struct ofi_endpoint *ep, int error)
{
    struct shm_files *files = data_of(ep);

    if (error == FI_EBUSY && files->tries++ < TRIES)
        return true;
    files->tries = 0;
    return false;
}

/* Whether the file of the class's endpoint, which may be marked, is of the size
 * that is known here: a power of two. */
static bool
is_known(const struct ofi_endpoint *ep)
{
    char name[OFI_NAME_MAX + 1], path[sizeof(SHM_FOLDER) + OFI_NAME_MAX + 2];
    struct shm_parts parts;
    struct stat status;
    const char *file = shm_file_of(ep->fep, name, &parts);

    if (file == NULL)
        return true;
    snprintf(path, sizeof(path), SHM_FOLDER "/%s", file);
    if (stat(path, &status) != 0)
        return true;
    uint64_t size = (uint64_t) status.st_size, region = shm_region(size);
    return region >= SHM_PAGE && size % SHM_PAGE == 0 &&
           size - region <= SHM_OWN_PAGES * (uint64_t) SHM_PAGE;
}

/* Since 2.5 shm works in another way, whose faults are not provided for: what
 * processes that are killed leave would stay, and transfers with them would not
 * end. */
static int32_t
opened(struct ofi_endpoint *ep)
{
    uint32_t version = ofi_library.version();

    if (is_known(ep))
        return NA_PLUGIN_OK;
    TP_LOG(ep->cls->host, ERROR,
        "shm of libfabric %u.%u is not supported: files of killed processes "
        "would stay; use na+sm",
        FI_MAJOR(version), FI_MINOR(version));
    return NA_PLUGIN_E_PROTONOSUPPORT;
}

/* A peer will be added to libfabric's address vector. */
static bool
reach(struct ofi_endpoint *ep, const struct ofi_peer *peer)
{
    const struct ofi_name *name = peer->name;
    struct marked *marks = data_of(ep)->marks;
    struct shm_parts parts;
    bool known = marks != NULL && shm_read_name((const char *) name->bytes,
                                      name->length, &parts);

    for (struct marked *one = marks; one != NULL; one = one->next)
        if (known)
            add_peer(one->page, (uint64_t) parts.process << 32 | parts.number);
        else
            atomic_store(&one->page->count, EVERYBODY);
    return true;
}

/* FILES OF DEAD PROCESSES */

/* Whether it was marked by a process of the same namespaces, and all its peers
 * have ended. */
static bool
is_left(int fd, const struct stat *status, uint32_t process)
{
    struct mark mark;
    struct spaces spaces;

    if (!S_ISREG(status->st_mode) || status->st_uid != geteuid() ||
        status->st_nlink != 1 || status->st_size % SHM_PAGE != 0 ||
        status->st_size < SHM_PAGE ||
        pread(fd, &mark, sizeof(mark), status->st_size - SHM_PAGE) !=
            (ssize_t) sizeof(mark) ||
        mark.magic != MAGIC || mark.process != process ||
        !find_spaces(&spaces) ||
        memcmp(&spaces, &mark.spaces, sizeof(spaces)) != 0)
        return false;
    uint32_t count = atomic_load_explicit(&mark.count, memory_order_relaxed);
    if (count > PEERS)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!shm_is_gone(mark.peers[i]))
            return false;
    return true;
}

/* The lock keeps others from doing the same, after which another file of that
 * name might be there. */
static bool
remove_one(int folder, const char *name, uint32_t process)
{
    struct stat status, again;
    int fd =
        openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return false;
    bool removed = flock(fd, LOCK_EX | LOCK_NB) == 0 &&
                   fstat(fd, &status) == 0 && is_left(fd, &status, process) &&
                   fstatat(folder, name, &again, AT_SYMLINK_NOFOLLOW) == 0 &&
                   again.st_ino == status.st_ino &&
                   unlinkat(folder, name, 0) == 0;
    close(fd);
    return removed;
}

/* Removes files of dead processes that no living one will look for. */
static void
remove_left(struct ofi_endpoint *ep)
{
    const struct dirent *entry = NULL;
    struct shm_parts parts;
    uint32_t count = 0;
    DIR *folder = opendir(SHM_FOLDER);

    if (folder == NULL)
        return;
    while ((entry = readdir(folder)) != NULL)
        if (shm_read_parts(entry->d_name, &parts) && parts.user == getuid() &&
            kill((pid_t) parts.process, 0) != 0 && errno == ESRCH)
            count += remove_one(dirfd(folder), entry->d_name, parts.process);
    closedir(folder);
    if (count != 0)
        TP_LOG(ep->cls->host, INFO,
            "removed %u files of killed processes from %s", count, SHM_FOLDER);
}

const struct ofi_quirk ofi_quirk_shm_files = {.provider = "shm",
    .data_size = sizeof(struct shm_files),
    .opening = remove_left,
    .opened = opened,
    .closed = remove_left,
    .retry_endpoint = retry_endpoint,
    .endpoint_opened = endpoint_opened,
    .endpoint_closing = endpoint_closing,
    .reach = reach};

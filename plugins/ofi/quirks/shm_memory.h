/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of an endpoint: its layout, which is libfabric's, its guard in the page
 * behind it, and both as they are mapped here. For shm_lock.c, which says what the
 * guard is for. */
#ifndef OFI_SHM_MEMORY_H
#define OFI_SHM_MEMORY_H

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../address.h"
#include "shm_file.h"

#define GUARD_MAGIC UINT64_C(0x6472617567696674)

/* Shared by all processes. */
struct guard {
    /* process << 32 | number of its endpoint; 0: none */
    _Atomic uint64_t holder;
    uint64_t room_before; /* in the queue, before the holder put anything in */
    uint64_t tail_before;
    uint64_t magic; /* written last */
};

/* Offsets in an endpoint's memory, by the version in its first byte. 1.17 counts
 * the room in the queue of messages, and those that were put into it; since 1.18,
 * which has the same version, messages are put there without the lock. */
struct layout {
    uint8_t version;
    uint16_t lock;
    uint16_t signal;       /* 0: not known, as what follows */
    uint16_t room;         /* a count */
    uint16_t queue_offset; /* of the word that has the offset of the queue, */
    uint16_t queue;        /* and its value */
    uint16_t tail;         /* a count */
};
static const struct layout layouts[] = {
    {4, 24, 28, 48, 64, 128, 128 + 24},
    {4, 24, 0, 0, 0, 0, 0},
    {5, 24, 0, 0, 0, 0, 0},
    {6, 64, 0, 0, 0, 0, 0},
    {7, 56, 0, 0, 0, 0, 0},
    {8, 56, 0, 0, 0, 0, 0},
};
#define PROCESS_OFFSET 4

/* An endpoint's memory and guard as they are mapped here. */
struct mapping {
    const struct layout *layout; /* NULL: nothing is mapped */
    unsigned char *region;       /* the first page */
    struct guard *guard;
    int32_t free;        /* the value of its lock */
    uint64_t waited_for; /* a holder that kept the guard */
    bool again;          /* to be mapped anew */
};

static inline _Atomic uint64_t *
count_at(const struct mapping *mapping, uint16_t offset)
{
    return (void *) (mapping->region + offset);
}

static inline _Atomic int32_t *
lock_of(const struct mapping *mapping)
{
    return (void *) (mapping->region + mapping->layout->lock);
}

/* Set by whoever puts something there, while it holds the lock. */
static inline bool
is_signalled(const struct mapping *mapping)
{
    const _Atomic int32_t *signal =
        (void *) (mapping->region + mapping->layout->signal);

    return atomic_load_explicit(signal, memory_order_relaxed) != 0;
}

/* The value of a lock that is free. */
static inline int32_t
free_value(void)
{
    pthread_spinlock_t lock;
    int32_t value = 0;

    _Static_assert(sizeof(lock) == sizeof(value), "a lock is one word");
    pthread_spin_init(&lock, PTHREAD_PROCESS_SHARED);
    value = lock;
    pthread_spin_destroy(&lock);
    return value;
}

static inline bool
is_held(const struct mapping *mapping)
{
    return atomic_load_explicit(lock_of(mapping), memory_order_relaxed) !=
           mapping->free;
}

/* The layout of a process's memory, NULL: not known. */
static inline const struct layout *
find_layout(const unsigned char *region, uint32_t process)
{
    int32_t pid = 0;
    uint64_t queue = 0;
    bool old = FI_VERSION_LT(ofi_library.version(), FI_VERSION(1, 18));

    memcpy(&pid, region + PROCESS_OFFSET, sizeof(pid));
    if (sizeof(void *) != 8 || pid != (int32_t) process)
        return NULL;
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        const struct layout *one = &layouts[i];
        memcpy(&queue, region + one->queue_offset, sizeof(queue));
        if (one->version == region[0] && (one->room != 0) == old &&
            (one->room == 0 || queue == one->queue))
            return one;
    }
    return NULL;
}

/* The guard's page is the first behind the memory. */
static inline bool
map_pages(struct mapping *mapping, const char *file, bool make)
{
    char path[SHM_PATH];
    struct stat status;
    uint64_t region = 0;
    void *first = MAP_FAILED, *guard = MAP_FAILED;

    snprintf(path, sizeof(path), SHM_FOLDER "/%s", file);
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_uid == geteuid()) {
        uint64_t size = (uint64_t) status.st_size;
        region = shm_region(size);
        if (region >= SHM_PAGE &&
            (make ? size == region &&
                        fallocate(fd, 0, (off_t) region, SHM_PAGE) == 0
                  : size >= region + SHM_PAGE)) {
            first =
                mmap(NULL, SHM_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            guard = mmap(NULL, SHM_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                (off_t) region);
        }
    }
    close(fd);
    mapping->region = first != MAP_FAILED ? first : NULL;
    mapping->guard = guard != MAP_FAILED ? guard : NULL;
    return mapping->region != NULL && mapping->guard != NULL;
}

static inline void
unmap_memory(struct mapping *mapping)
{
    if (mapping->region != NULL)
        munmap(mapping->region, SHM_PAGE);
    if (mapping->guard != NULL)
        munmap(mapping->guard, SHM_PAGE);
    *mapping = (struct mapping){0};
}

static inline void
map_memory(
    struct mapping *mapping, const char *file, uint32_t process, bool make)
{
    const struct layout *layout = NULL;

    *mapping = (struct mapping){0};
    if (map_pages(mapping, file, make) &&
        (make || mapping->guard->magic == GUARD_MAGIC))
        layout = find_layout(mapping->region, process);
    if (layout == NULL)
        unmap_memory(mapping);
    mapping->layout = layout;
    mapping->free = free_value();
}

/* The memory of a peer's endpoint; NULL: no memory for it here. */
static inline struct mapping *
mapping_of(struct ofi_peer *peer)
{
    const struct ofi_name *name = peer->name;
    struct mapping *mapping = peer->gate;
    struct shm_parts parts;

    if (__builtin_expect(mapping != NULL && !mapping->again, 1))
        return mapping;
    if (mapping == NULL)
        mapping = peer->gate = calloc(1, sizeof(*mapping));
    if (mapping == NULL)
        return NULL;
    unmap_memory(mapping);
    if (name != NULL &&
        shm_read_name((const char *) name->bytes, name->length, &parts)) {
        char file[OFI_NAME_MAX + 1];
        snprintf(file, sizeof(file), "%u:%u:%u", parts.process, parts.user,
            parts.number);
        map_memory(mapping, file, parts.process, false);
    }
    return mapping;
}

#endif /* OFI_SHM_MEMORY_H */

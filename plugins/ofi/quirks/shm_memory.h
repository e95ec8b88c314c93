/* SPDX-License-Identifier: BSD-3-Clause */
/* An endpoint's memory as libfabric's shm lays it out, and the guard behind it, see
 * shm_lock.c. */
#ifndef OFI_SHM_MEMORY_H
#define OFI_SHM_MEMORY_H

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../address.h"
#include "shm_file.h"

#define MAGIC UINT64_C(0x6472617567696674)

/* Shared by the processes. Its holder, as process << 32 | number of the endpoint
 * (0: nobody), and what the queue was before that one put something in. */
struct guard {
    _Atomic uint64_t holder;
    uint64_t room_before;
    uint64_t tail_before;
    uint64_t magic; /* written last */
};

/* Where things are in an endpoint's memory, by the first byte of it. 1.17 counts
 * the room in the queue of messages, and those that were put into it; since 1.18,
 * which has the same number, messages are put there without the lock. */
struct layout {
    uint8_t version;
    uint16_t lock;
    uint16_t signal; /* 0: not known, as what follows */
    uint16_t room;
    uint16_t queue_offset;
    uint16_t queue;
    uint16_t tail;
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

/* An endpoint's memory as it is mapped here. */
struct place {
    const struct layout *layout; /* NULL: no guard */
    unsigned char *region;       /* the first page */
    struct guard *guard;
    int32_t free;        /* the value of its lock */
    uint64_t waited_for; /* a holder that kept the guard */
    bool again;          /* to be mapped anew */
};

static inline _Atomic uint64_t *
count_at(const struct place *place, uint16_t offset)
{
    return (void *) (place->region + offset);
}

static inline _Atomic int32_t *
lock_of(const struct place *place)
{
    return (void *) (place->region + place->layout->lock);
}

/* Set by whoever puts something there, while it holds the lock. */
static inline bool
is_signalled(const struct place *place)
{
    const _Atomic int32_t *signal =
        (void *) (place->region + place->layout->signal);

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
is_held(const struct place *place)
{
    return atomic_load_explicit(lock_of(place), memory_order_relaxed) !=
           place->free;
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
map_pages(struct place *place, const char *file, bool make)
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
    place->region = first != MAP_FAILED ? first : NULL;
    place->guard = guard != MAP_FAILED ? guard : NULL;
    return place->region != NULL && place->guard != NULL;
}

static inline void
unmap_place(struct place *place)
{
    if (place->region != NULL)
        munmap(place->region, SHM_PAGE);
    if (place->guard != NULL)
        munmap(place->guard, SHM_PAGE);
    *place = (struct place){0};
}

static inline void
map_place(struct place *place, const char *file, uint32_t process, bool make)
{
    const struct layout *layout = NULL;

    *place = (struct place){0};
    if (map_pages(place, file, make) && (make || place->guard->magic == MAGIC))
        layout = find_layout(place->region, process);
    if (layout == NULL)
        unmap_place(place);
    place->layout = layout;
    place->free = free_value();
}

/* The memory of a peer's endpoint; NULL: no memory for it here. */
static inline struct place *
place_of(struct ofi_peer *peer)
{
    const struct ofi_name *name = peer->name;
    struct place *place = peer->gate;
    struct shm_parts parts;

    if (__builtin_expect(place != NULL && !place->again, 1))
        return place;
    if (place == NULL)
        place = peer->gate = calloc(1, sizeof(*place));
    if (place == NULL)
        return NULL;
    unmap_place(place);
    if (name != NULL &&
        shm_read_name((const char *) name->bytes, name->length, &parts)) {
        char file[OFI_NAME_MAX + 1];
        snprintf(file, sizeof(file), "%u:%u:%u", parts.process, parts.user,
            parts.number);
        map_place(place, file, parts.process, false);
    }
    return place;
}

#endif /* OFI_SHM_MEMORY_H */

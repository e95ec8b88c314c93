/* SPDX-License-Identifier: BSD-3-Clause */
/* Making shared segments, finding registrations in them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/memfd.h"
#include "ring.h"
#include "shared.h"

#define FIRST_ROOM 16U

/* One of this class's. The class has them in the order of their addresses. */
struct sm_shared {
    uint64_t id;     /* random */
    uint64_t wanted; /* bytes that were asked for */
    uint64_t length; /* the same in whole pages */
    unsigned char *memory;
    int fd;
    uint32_t users; /* registrations */
    bool freed;     /* by the core, while there were users */
};

/* Memory that is sealed, mapped, and has a descriptor. 0, or an errno. */
static int
make(struct sm_shared *shared)
{
    int error =
        tp_memfd_create("talaria-sm-shared", shared->length, &shared->fd);
    if (error != 0)
        return error;
    error = tp_memfd_seal(shared->fd, false);
    if (error == 0) {
        shared->memory = mmap(NULL, shared->length, PROT_READ | PROT_WRITE,
            MAP_SHARED, shared->fd, 0);
        error = shared->memory == MAP_FAILED ? errno : 0;
    }
    if (error != 0)
        close(shared->fd);
    return error;
}

static void
unmake(struct sm_shared *shared)
{
    munmap(shared->memory, shared->length);
    close(shared->fd);
    free(shared);
}

/* How many segments begin at or below an address. [memory] */
static uint32_t
count_below(const na_plugin_class *cls, const void *address)
{
    uint32_t low = 0;
    uint32_t high = cls->shared_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((uintptr_t) cls->shared[middle]->memory <= (uintptr_t) address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* [memory] */
static bool
insert(na_plugin_class *cls, struct sm_shared *shared)
{
    if (!tp_random_draw(&cls->random, &shared->id))
        return false;
    if (cls->shared_count == cls->shared_room) {
        uint32_t room =
            cls->shared_room != 0 ? 2 * cls->shared_room : FIRST_ROOM;
        struct sm_shared **segments =
            realloc(cls->shared, room * sizeof(struct sm_shared *));
        if (segments == NULL)
            return false;
        cls->shared = segments;
        cls->shared_room = room;
    }
    uint32_t at = count_below(cls, shared->memory);
    memmove(cls->shared + at + 1, cls->shared + at,
        (cls->shared_count - at) * sizeof(struct sm_shared *));
    cls->shared[at] = shared;
    cls->shared_count++;
    return true;
}

/* [memory] */
static void
remove_at(na_plugin_class *cls, uint32_t at)
{
    cls->shared_count--;
    memmove(cls->shared + at, cls->shared + at + 1,
        (cls->shared_count - at) * sizeof(struct sm_shared *));
}

static int32_t
segment_alloc(na_plugin_class *cls, uint64_t length, void **memory_p)
{
    uint64_t page = sm_ring_page();
    if (length == 0 || length > INT64_MAX - page) {
        TP_LOG(cls->host, ERROR, "cannot allocate %" PRIu64 " bytes", length);
        return length == 0 ? NA_PLUGIN_E_INVALID_ARG : NA_PLUGIN_E_NOMEM;
    }

    struct sm_shared *shared = calloc(1, sizeof(*shared));
    if (shared == NULL)
        return NA_PLUGIN_E_NOMEM;
    shared->wanted = length;
    shared->length = (length + page - 1) & ~(page - 1);
    int error = make(shared);
    if (error != 0) {
        TP_LOG(cls->host, ERROR,
            "cannot allocate %" PRIu64 " bytes of shared memory: %s", length,
            tp_memfd_error(error));
        free(shared);
        return NA_PLUGIN_E_NOMEM;
    }

    tp_lock_take(&cls->memory);
    bool inserted = insert(cls, shared);
    tp_lock_drop(&cls->memory);
    if (!inserted) {
        unmake(shared);
        return NA_PLUGIN_E_NOMEM;
    }
    *memory_p = shared->memory;
    return NA_PLUGIN_OK;
}

static void
segment_free(na_plugin_class *cls, void *memory)
{
    struct sm_shared *unused = NULL;

    if (memory == NULL)
        return;
    tp_lock_take(&cls->memory);
    uint32_t at = count_below(cls, memory);
    struct sm_shared *shared = at != 0 ? cls->shared[at - 1] : NULL;
    bool known = shared != NULL && shared->memory == memory && !shared->freed;
    if (known && shared->users != 0) {
        shared->freed = true;
    } else if (known) {
        remove_at(cls, at - 1);
        unused = shared;
    }
    tp_lock_drop(&cls->memory);
    if (unused != NULL)
        unmake(unused);
    if (!known)
        TP_LOG(cls->host, ERROR,
            "%p: not freed: it was not allocated by this class", memory);
}

const na_plugin_mem_alloc sm_mem_alloc = {
    .size = sizeof(sm_mem_alloc),
    .alloc = segment_alloc,
    .free = segment_free,
};

uint32_t
sm_shared_fini(na_plugin_class *cls)
{
    uint32_t left = cls->shared_count;

    for (uint32_t i = 0; i < left; i++)
        unmake(cls->shared[i]);
    free(cls->shared);
    cls->shared = NULL;
    cls->shared_count = 0;
    return left;
}

static bool
within(const struct sm_shared *shared, const na_plugin_segment *segment)
{
    uint64_t at = (uintptr_t) segment->base - (uintptr_t) shared->memory;

    return (uintptr_t) segment->base >= (uintptr_t) shared->memory &&
           at <= shared->length && segment->length <= shared->length - at;
}

/* Whether a peer that maps the shared segment sees nothing but the registration:
 * that is the segment as a whole, and for reading, since a mapping can always be
 * read. */
static bool
covers(const na_plugin_mem *mem, const struct sm_shared *shared)
{
    return (mem->mem.access & NA_PLUGIN_MEM_READ) != 0 && mem->mem.count == 1 &&
           mem->segments[0].base == shared->memory &&
           mem->segments[0].length >= shared->wanted;
}

void
sm_shared_join(na_plugin_class *cls, na_plugin_mem *mem)
{
    uint32_t at =
        cls->shared_count != 0 ? count_below(cls, mem->segments[0].base) : 0;

    if (at == 0)
        return;
    struct sm_shared *shared = cls->shared[at - 1];
    for (uint32_t i = 0; i < mem->mem.count; i++)
        if (!within(shared, &mem->segments[i]))
            return;
    shared->users++;
    mem->within = shared;
    if (!covers(mem, shared))
        return;
    mem->shared = shared->id;
    mem->shared_base = (uintptr_t) shared->memory;
    mem->shared_length = shared->length;
}

struct sm_shared *
sm_shared_hold(const na_plugin_mem *mem)
{
    if (mem->within != NULL)
        mem->within->users++;
    return mem->within;
}

void
sm_shared_leave(na_plugin_class *cls, const na_plugin_mem *mem)
{
    sm_shared_release(cls, mem->within);
}

void
sm_shared_release(na_plugin_class *cls, struct sm_shared *shared)
{
    if (shared == NULL)
        return;
    shared->users--;
    if (shared->users == 0 && shared->freed) {
        remove_at(cls, count_below(cls, shared->memory) - 1);
        unmake(shared);
    }
}

int
sm_shared_open(const struct sm_shared *shared, uint32_t access)
{
    char path[32];

    if ((access & NA_PLUGIN_MEM_WRITE) != 0)
        return fcntl(shared->fd, F_DUPFD_CLOEXEC, 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", shared->fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

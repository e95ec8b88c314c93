/* SPDX-License-Identifier: BSD-3-Clause */
/* Making areas, finding registrations in them, passing and mapping them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "area.h"
#include "conn.h"
#include "memfd.h"

#define FIRST_ROOM 16U

/* One of this class's. The class has them in the order of their addresses. */
struct sm_area {
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
make(struct sm_area *area)
{
    int error = sm_memfd_create("talaria-sm-area", area->length, &area->fd);
    if (error != 0)
        return error;
    error = sm_memfd_seal(area->fd, false);
    if (error == 0) {
        area->memory = mmap(NULL, area->length, PROT_READ | PROT_WRITE,
            MAP_SHARED, area->fd, 0);
        error = area->memory == MAP_FAILED ? errno : 0;
    }
    if (error != 0)
        close(area->fd);
    return error;
}

static void
unmake(struct sm_area *area)
{
    munmap(area->memory, area->length);
    close(area->fd);
    free(area);
}

/* How many areas begin at or below an address. [memory] */
static uint32_t
count_below(const na_plugin_class *cls, const void *address)
{
    uint32_t low = 0;
    uint32_t high = cls->areas_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((uintptr_t) cls->areas[middle]->memory <= (uintptr_t) address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* [memory] */
static bool
insert(na_plugin_class *cls, struct sm_area *area)
{
    if (!sm_random_draw(&cls->random, &area->id))
        return false;
    if (cls->areas_count == cls->areas_room) {
        uint32_t room = cls->areas_room != 0 ? 2 * cls->areas_room : FIRST_ROOM;
        struct sm_area **areas =
            realloc(cls->areas, room * sizeof(struct sm_area *));
        if (areas == NULL)
            return false;
        cls->areas = areas;
        cls->areas_room = room;
    }
    uint32_t at = count_below(cls, area->memory);
    memmove(cls->areas + at + 1, cls->areas + at,
        (cls->areas_count - at) * sizeof(struct sm_area *));
    cls->areas[at] = area;
    cls->areas_count++;
    return true;
}

/* [memory] */
static void
remove_at(na_plugin_class *cls, uint32_t at)
{
    cls->areas_count--;
    memmove(cls->areas + at, cls->areas + at + 1,
        (cls->areas_count - at) * sizeof(struct sm_area *));
}

static int32_t
area_alloc(na_plugin_class *cls, uint64_t length, void **memory_p)
{
    uint64_t page = sm_ring_page();
    if (length == 0 || length > INT64_MAX - page) {
        SM_LOG(cls->host, ERROR, "cannot allocate %" PRIu64 " bytes", length);
        return length == 0 ? NA_PLUGIN_E_INVALID_ARG : NA_PLUGIN_E_NOMEM;
    }

    struct sm_area *area = calloc(1, sizeof(*area));
    if (area == NULL)
        return NA_PLUGIN_E_NOMEM;
    area->wanted = length;
    area->length = (length + page - 1) & ~(page - 1);
    int error = make(area);
    if (error != 0) {
        SM_LOG(cls->host, ERROR,
            "cannot allocate %" PRIu64 " bytes of shared memory: %s", length,
            sm_memfd_error(error));
        free(area);
        return NA_PLUGIN_E_NOMEM;
    }

    sm_lock_take(&cls->memory);
    bool inserted = insert(cls, area);
    sm_lock_drop(&cls->memory);
    if (!inserted) {
        unmake(area);
        return NA_PLUGIN_E_NOMEM;
    }
    *memory_p = area->memory;
    return NA_PLUGIN_OK;
}

static void
area_free(na_plugin_class *cls, void *memory)
{
    struct sm_area *gone = NULL;

    if (memory == NULL)
        return;
    sm_lock_take(&cls->memory);
    uint32_t at = count_below(cls, memory);
    struct sm_area *area = at != 0 ? cls->areas[at - 1] : NULL;
    bool known = area != NULL && area->memory == memory && !area->freed;
    if (known && area->users != 0) {
        area->freed = true;
    } else if (known) {
        remove_at(cls, at - 1);
        gone = area;
    }
    sm_lock_drop(&cls->memory);
    if (gone != NULL)
        unmake(gone);
    if (!known)
        SM_LOG(cls->host, ERROR, "%p was not allocated here", memory);
}

const na_plugin_mem_alloc sm_mem_alloc = {
    .size = sizeof(sm_mem_alloc),
    .alloc = area_alloc,
    .free = area_free,
};

uint32_t
sm_area_fini(na_plugin_class *cls)
{
    uint32_t left = cls->areas_count;

    for (uint32_t i = 0; i < left; i++)
        unmake(cls->areas[i]);
    free(cls->areas);
    cls->areas = NULL;
    cls->areas_count = 0;
    return left;
}

static bool
within(const struct sm_area *area, const na_plugin_segment *segment)
{
    uint64_t at = (uintptr_t) segment->base - (uintptr_t) area->memory;
    return (uintptr_t) segment->base >= (uintptr_t) area->memory &&
           at <= area->length && segment->length <= area->length - at;
}

/* Whether a registration shows a peer that reads the area nothing else: it is the
 * area as a whole, and for reading, since a mapping can always be read. */
static bool
covers(const na_plugin_mem *mem, const struct sm_area *area)
{
    return (mem->access & NA_PLUGIN_MEM_READ) != 0 && mem->count == 1 &&
           mem->segments[0].base == area->memory &&
           mem->segments[0].length >= area->wanted;
}

void
sm_area_join(na_plugin_class *cls, na_plugin_mem *mem)
{
    uint32_t at =
        cls->areas_count != 0 ? count_below(cls, mem->segments[0].base) : 0;

    mem->within = NULL;
    mem->area = mem->area_base = mem->area_length = 0;
    if (at == 0)
        return;
    struct sm_area *area = cls->areas[at - 1];
    for (uint32_t i = 0; i < mem->count; i++)
        if (!within(area, &mem->segments[i]))
            return;
    area->users++;
    mem->within = area;
    if (!covers(mem, area))
        return;
    mem->area = area->id;
    mem->area_base = (uintptr_t) area->memory;
    mem->area_length = area->length;
}

void
sm_area_leave(na_plugin_class *cls, const na_plugin_mem *mem)
{
    struct sm_area *area = mem->within;

    if (area == NULL)
        return;
    area->users--;
    if (area->users == 0 && area->freed) {
        remove_at(cls, count_below(cls, area->memory) - 1);
        unmake(area);
    }
}

/* A descriptor by which the area can be mapped for no more than access, -1 without
 * one; the caller's to close. */
static int
share(const struct sm_area *area, uint32_t access)
{
    char path[32];

    if ((access & NA_PLUGIN_MEM_WRITE) != 0)
        return fcntl(area->fd, F_DUPFD_CLOEXEC, 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", area->fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* The kernel cannot take a mapping back: only who may copy by itself gets one. */
void
sm_area_give(
    na_plugin_class *cls, struct sm_conn *conn, uint64_t key, uint32_t access)
{
    struct sm_area_packet packet = {.magic = SM_AREA_MAGIC,
        .access = NA_PLUGIN_MEM_READ | (access & NA_PLUGIN_MEM_WRITE)};
    int fd = -1;

    sm_lock_take(&cls->memory);
    const na_plugin_mem *mem = conn->same_user ? sm_mem_find(cls, key) : NULL;
    if (mem != NULL && mem->area != 0 && (packet.access & ~mem->access) == 0) {
        packet.id = mem->area;
        packet.length = mem->area_length;
        fd = share(mem->within, packet.access);
    }
    sm_lock_drop(&cls->memory);

    /* without room in the socket it is not given: copies go on as before */
    if (fd >= 0) {
        sm_socket_pass(conn->fd, &packet, sizeof(packet), &fd, 1);
        close(fd);
    }
}

/* Maps memory that a peer has passed. */
static unsigned char *
map_area(uint64_t length, uint32_t access, int fd, const char **wrong_p)
{
    int protection = PROT_READ;

    *wrong_p = sm_memfd_check(fd, length);
    if (*wrong_p != NULL)
        return NULL;
    if ((access & NA_PLUGIN_MEM_WRITE) != 0)
        protection |= PROT_WRITE;
    unsigned char *mapping = mmap(NULL, length, protection, MAP_SHARED, fd, 0);
    return mapping != MAP_FAILED ? mapping : NULL;
}

static struct sm_area_seen *
seen(struct sm_conn *conn, uint64_t id, uint32_t access)
{
    for (uint32_t i = 0; i < conn->areas_count; i++)
        if (conn->areas[i].id == id && conn->areas[i].access == access)
            return &conn->areas[i];
    return NULL;
}

/* What an area is wanted for when it comes with that access. */
static uint32_t
wanted_access(uint32_t access)
{
    return (access & NA_PLUGIN_MEM_WRITE) != 0 ? NA_PLUGIN_MEM_WRITE
                                               : NA_PLUGIN_MEM_READ;
}

/* Whether a packet is the answer to a request. Nothing is taken out of the list
 * before the connection ends, and only packets add mappings. [progress] */
static bool
wanted(struct sm_conn *conn, const struct sm_area_packet *packet)
{
    sm_lock_take(&conn->lock);
    const struct sm_area_seen *area =
        seen(conn, packet->id, wanted_access(packet->access));
    bool wanted =
        area != NULL && area->mapping == NULL && area->length == packet->length;
    sm_lock_drop(&conn->lock);
    return wanted;
}

bool
sm_area_any_wanted(struct sm_conn *conn)
{
    bool wanted = false;

    sm_lock_take(&conn->lock);
    for (uint32_t i = 0; i < conn->areas_count && !wanted; i++)
        wanted = conn->areas[i].mapping == NULL;
    sm_lock_drop(&conn->lock);
    return wanted;
}

const char *
sm_area_take(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_area_packet *packet, int fd)
{
    const char *wrong = NULL;

    if (packet->magic != SM_AREA_MAGIC)
        return "unexpected packet";
    if (!wanted(conn, packet))
        return "it shares memory that nobody asked for";
    if (fd < 0) /* lost for want of descriptors: copies go on as before */
        return NULL;
    unsigned char *mapping =
        map_area(packet->length, packet->access, fd, &wrong);
    if (mapping == NULL)
        return wrong;

    sm_lock_take(&conn->lock);
    seen(conn, packet->id, wanted_access(packet->access))->mapping = mapping;
    sm_lock_drop(&conn->lock);
    sm_count_shared(&cls->counters.areas, 1);
    return NULL;
}

unsigned char *
sm_area_find(struct sm_conn *conn, const na_plugin_mem *remote, uint32_t access,
    bool *ask_p)
{
    struct sm_area_seen *area = seen(conn, remote->area, NA_PLUGIN_MEM_WRITE);

    /* one that can be written to can be read */
    if (access != NA_PLUGIN_MEM_WRITE &&
        (area == NULL || area->mapping == NULL))
        area = seen(conn, remote->area, access);
    if (area != NULL && area->length != remote->area_length)
        return NULL; /* one that says another size now is another's, or a lie */
    if (area != NULL && (area->mapping != NULL || area->key == remote->id))
        return area->mapping;
    if (area == NULL) {
        if (conn->areas == NULL)
            conn->areas = calloc(SM_CONN_AREAS, sizeof(*conn->areas));
        if (conn->areas == NULL || conn->areas_count == SM_CONN_AREAS)
            return NULL;
        area = &conn->areas[conn->areas_count++];
        *area = (struct sm_area_seen){.id = remote->area,
            .length = remote->area_length,
            .access = access};
    }
    area->key = remote->id;
    *ask_p = true;
    return NULL;
}

void
sm_area_forget(struct sm_conn *conn)
{
    for (uint32_t i = 0; i < conn->areas_count; i++)
        if (conn->areas[i].mapping != NULL)
            munmap(conn->areas[i].mapping, conn->areas[i].length);
    free(conn->areas);
    conn->areas = NULL;
    conn->areas_count = 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Making areas, finding registrations in them, passing and mapping them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "area.h"
#include "conn.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define FIRST_ROOM 16U

/* One of this class's. The class has them in the order of their addresses. */
struct sm_area {
    uint64_t id;
    uint64_t length;
    unsigned char *memory;
    int fd;
    uint32_t users; /* registrations */
    bool freed;     /* by the core, while there were users */
};

/* Memory that is sealed, mapped, and has a descriptor. */
static int32_t
make(struct sm_area *area)
{
    area->fd = memfd_create("talaria-sm-area", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (area->fd < 0)
        return NA_PLUGIN_E_NOMEM;
    if (ftruncate(area->fd, (off_t) area->length) != 0 ||
        fcntl(area->fd, F_ADD_SEALS, SEALS) != 0)
        goto close_fd;
    area->memory = mmap(
        NULL, area->length, PROT_READ | PROT_WRITE, MAP_SHARED, area->fd, 0);
    if (area->memory != MAP_FAILED)
        return NA_PLUGIN_OK;

close_fd:
    close(area->fd);
    return NA_PLUGIN_E_NOMEM;
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
    area->id = ++cls->area_serial;
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
        SM_LOG(cls->host, ERROR, "%" PRIu64 " bytes cannot be had", length);
        return length == 0 ? NA_PLUGIN_E_INVALID_ARG : NA_PLUGIN_E_NOMEM;
    }

    struct sm_area *area = calloc(1, sizeof(*area));
    if (area == NULL)
        return NA_PLUGIN_E_NOMEM;
    area->length = (length + page - 1) & ~(page - 1);
    int32_t ret = make(area);
    if (ret != NA_PLUGIN_OK) {
        SM_LOG(cls->host, ERROR, "no memory of %" PRIu64 " bytes to share: %s",
            length, strerror(errno));
        free(area);
        return ret;
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

void
sm_area_join(na_plugin_class *cls, na_plugin_mem *mem)
{
    uint32_t at =
        cls->areas_count != 0 ? count_below(cls, mem->segments[0].base) : 0;

    mem->area = 0;
    if (at == 0)
        return;
    struct sm_area *area = cls->areas[at - 1];
    for (uint32_t i = 0; i < mem->count; i++)
        if (!within(area, &mem->segments[i]))
            return;
    area->users++;
    mem->area = area->id;
    mem->area_base = (uintptr_t) area->memory;
    mem->area_length = area->length;
}

void
sm_area_leave(na_plugin_class *cls, const na_plugin_mem *mem)
{
    if (mem->area == 0)
        return;
    uint32_t at = count_below(cls, mem->segments[0].base) - 1;
    struct sm_area *area = cls->areas[at];
    area->users--;
    if (area->users == 0 && area->freed) {
        remove_at(cls, at);
        unmake(area);
    }
}

/* A descriptor of the area with this number, -1 if nothing in it is registered;
 * the caller's to close. */
static int
share(na_plugin_class *cls, uint64_t id, uint64_t *length_p)
{
    int fd = -1;

    sm_lock_take(&cls->memory);
    for (uint32_t i = 0; i < cls->areas_count && fd < 0; i++) {
        const struct sm_area *area = cls->areas[i];
        if (area->id != id || area->users == 0)
            continue;
        fd = fcntl(area->fd, F_DUPFD_CLOEXEC, 0);
        *length_p = area->length;
    }
    sm_lock_drop(&cls->memory);
    return fd;
}

void
sm_area_give(na_plugin_class *cls, struct sm_conn *conn, uint64_t id)
{
    struct sm_area_packet packet = {.magic = SM_AREA_MAGIC, .id = id};
    int fd = share(cls, id, &packet.length);

    /* without room in the socket it is not given: copies go on as before */
    sm_socket_pass(conn->fd, &packet, sizeof(packet), fd);
    if (fd >= 0)
        close(fd);
}

/* Maps memory that a peer has passed. */
static unsigned char *
map_area(uint64_t length, int fd, const char **wrong_p)
{
    struct stat st;
    struct statfs fs;
    int seals = fcntl(fd, F_GET_SEALS);

    *wrong_p = "the memory that it shares is not sealed";
    if (seals < 0 || (seals & SEALS) != SEALS)
        return NULL;
    *wrong_p = "the memory that it shares has another size than it said";
    if (fstat(fd, &st) != 0 || st.st_size <= 0 ||
        (uint64_t) st.st_size != length)
        return NULL;
    *wrong_p = "the memory that it shares is of an unknown kind";
    if (fstatfs(fd, &fs) != 0 || (unsigned long) fs.f_type != TMPFS_MAGIC)
        return NULL;
    *wrong_p = NULL;
    unsigned char *mapping =
        mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return mapping != MAP_FAILED ? mapping : NULL;
}

static struct sm_area_seen *
seen(struct sm_conn *conn, uint64_t id)
{
    for (uint32_t i = 0; i < conn->areas_count; i++)
        if (conn->areas[i].id == id)
            return &conn->areas[i];
    return NULL;
}

/* Whether a packet is the answer to a request. Nothing is taken out of the list
 * before the connection ends, and only packets add mappings. [progress] */
static bool
wanted(struct sm_conn *conn, const struct sm_area_packet *packet)
{
    sm_lock_take(&conn->lock);
    const struct sm_area_seen *area = seen(conn, packet->id);
    bool wanted =
        area != NULL && area->mapping == NULL && area->length == packet->length;
    sm_lock_drop(&conn->lock);
    return wanted;
}

const char *
sm_area_take(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_area_packet *packet, int fd)
{
    const char *wrong = NULL;

    if (packet->magic != SM_AREA_MAGIC)
        return "a packet from it cannot be";
    if (fd < 0) /* it does not share it */
        return NULL;
    if (!wanted(conn, packet))
        return "it shares memory that nobody asked for";
    unsigned char *mapping = map_area(packet->length, fd, &wrong);
    if (mapping == NULL)
        return wrong;

    sm_lock_take(&conn->lock);
    seen(conn, packet->id)->mapping = mapping;
    sm_lock_drop(&conn->lock);
    sm_count_shared(&cls->counters.areas, 1);
    return NULL;
}

unsigned char *
sm_area_find(struct sm_conn *conn, const na_plugin_mem *remote, bool *ask_p)
{
    struct sm_area_seen *area = seen(conn, remote->area);

    if (area != NULL)
        /* one that says another size now is another's, or a lie */
        return area->length == remote->area_length ? area->mapping : NULL;
    if (conn->areas == NULL)
        conn->areas = calloc(SM_CONN_AREAS, sizeof(*conn->areas));
    if (conn->areas == NULL || conn->areas_count == SM_CONN_AREAS)
        return NULL;
    conn->areas[conn->areas_count++] = (struct sm_area_seen){
        .id = remote->area, .length = remote->area_length};
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

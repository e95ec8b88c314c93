/* SPDX-License-Identifier: BSD-3-Clause */
/* Passing shared segments, and mapping those of peers. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/memfd.h"
#include "mapping.h"
#include "mem.h"
#include "shared.h"
#include "socket.h"

/* The kernel cannot take a mapping back: only a peer that may copy by itself gets
 * one. */
void
sm_mapping_give(
    na_plugin_class *cls, struct sm_conn *conn, uint64_t key, uint32_t access)
{
    struct sm_mapping_packet packet = {.magic = SM_MAPPING_MAGIC,
        .access = NA_PLUGIN_MEM_READ | (access & NA_PLUGIN_MEM_WRITE)};
    int fd = -1;

    tp_lock_take(&cls->memory);
    const na_plugin_mem *mem = conn->same_user ? sm_mem_find(cls, key) : NULL;
    if (mem != NULL && mem->shared != 0 &&
        (packet.access & ~mem->mem.access) == 0) {
        packet.id = mem->shared;
        packet.length = mem->shared_length;
        fd = sm_shared_open(mem->within, packet.access);
    }
    tp_lock_drop(&cls->memory);

    /* without room in the socket it is not given: copies go on as before */
    if (fd >= 0) {
        sm_socket_pass(conn->fd, &packet, sizeof(packet), &fd, 1);
        close(fd);
    }
}

/* Maps memory that a peer has passed. */
static unsigned char *
map_segment(uint64_t length, uint32_t access, int fd, const char **wrong_p)
{
    int protection = PROT_READ;

    *wrong_p = tp_memfd_check(fd, length);
    if (*wrong_p != NULL)
        return NULL;
    if ((access & NA_PLUGIN_MEM_WRITE) != 0)
        protection |= PROT_WRITE;
    unsigned char *mapping = mmap(NULL, length, protection, MAP_SHARED, fd, 0);
    return mapping != MAP_FAILED ? mapping : NULL;
}

static struct sm_mapping *
seen(struct sm_conn *conn, uint64_t id, uint32_t access)
{
    for (uint32_t i = 0; i < conn->mappings_count; i++)
        if (conn->mappings[i].id == id && conn->mappings[i].access == access)
            return &conn->mappings[i];
    return NULL;
}

/* The request that a packet answers, NULL: none. Nothing is taken out of the list
 * before the connection ends, and only packets add mappings. [progress] */
static struct sm_mapping *
find_wanted(struct sm_conn *conn, const struct sm_mapping_packet *packet)
{
    bool write = (packet->access & NA_PLUGIN_MEM_WRITE) != 0;

    tp_lock_take(&conn->lock);
    struct sm_mapping *mapping = seen(
        conn, packet->id, write ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ);
    bool wanted = mapping != NULL && mapping->memory == NULL &&
                  mapping->length == packet->length;
    tp_lock_drop(&conn->lock);
    return wanted ? mapping : NULL;
}

bool
sm_mapping_any_wanted(struct sm_conn *conn)
{
    bool wanted = false;

    tp_lock_take(&conn->lock);
    for (uint32_t i = 0; i < conn->mappings_count && !wanted; i++)
        wanted = conn->mappings[i].memory == NULL;
    tp_lock_drop(&conn->lock);
    return wanted;
}

const char *
sm_mapping_take(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_mapping_packet *packet, int fd)
{
    const char *wrong = NULL;

    if (packet->magic != SM_MAPPING_MAGIC)
        return "unexpected packet";
    struct sm_mapping *mapping = find_wanted(conn, packet);
    if (mapping == NULL)
        return "it shares memory that was not asked for";
    if (fd < 0) /* out of descriptors: copies go on as before */
        return NULL;
    unsigned char *memory =
        map_segment(packet->length, packet->access, fd, &wrong);
    if (memory == NULL)
        return wrong;

    tp_lock_take(&conn->lock);
    mapping->memory = memory;
    tp_lock_drop(&conn->lock);
    tp_count_shared(&cls->counters.segments, 1);
    return NULL;
}

unsigned char *
sm_mapping_find(struct sm_conn *conn, const na_plugin_mem *remote,
    uint32_t access, bool *ask_p)
{
    struct sm_mapping *mapping =
        seen(conn, remote->shared, NA_PLUGIN_MEM_WRITE);

    /* one that can be written to can be read */
    if (access != NA_PLUGIN_MEM_WRITE &&
        (mapping == NULL || mapping->memory == NULL))
        mapping = seen(conn, remote->shared, access);
    if (mapping != NULL && mapping->length != remote->shared_length)
        return NULL; /* another size: another peer's segment, or invalid */
    if (mapping != NULL &&
        (mapping->memory != NULL || mapping->key == remote->mem.keyed.key))
        return mapping->memory;
    if (mapping == NULL) {
        if (conn->mappings == NULL)
            conn->mappings = calloc(SM_CONN_MAPPINGS, sizeof(*conn->mappings));
        if (conn->mappings == NULL || conn->mappings_count == SM_CONN_MAPPINGS)
            return NULL;
        mapping = &conn->mappings[conn->mappings_count++];
        *mapping = (struct sm_mapping){.id = remote->shared,
            .length = remote->shared_length,
            .access = access};
    }
    mapping->key = remote->mem.keyed.key;
    *ask_p = true;
    return NULL;
}

void
sm_mapping_forget(struct sm_conn *conn)
{
    for (uint32_t i = 0; i < conn->mappings_count; i++)
        if (conn->mappings[i].memory != NULL)
            munmap(conn->mappings[i].memory, conn->mappings[i].length);
    free(conn->mappings);
    conn->mappings = NULL;
    conn->mappings_count = 0;
}

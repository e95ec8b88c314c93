/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys. In shared memory UCX reaches by itself only what it has allocated;
 * ucp_rkey_ptr tells. Over devices it reaches all that it has registered. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "key.h"
#include "lane.h"
#include "transport.h"

#define KEYS_MOST 8U     /* segments; of more than that none is packed */
#define KEY_LONGEST 512U /* bytes of one packed key */
#define PADDING 512U     /* zeros behind one that is unpacked */

/* Memory that UCX has allocated, for the program. */
struct ucx_area {
    struct tp_link link;
    ucp_mem_h handle;
    unsigned char *memory;
    uint64_t length;
};

static struct ucx_area *
area_at(struct tp_link *link)
{
    return TP_OBJECT(link, struct ucx_area, link);
}

static struct ucx_keyring *
keyring_of(struct tp_link *link)
{
    return TP_OBJECT(link, struct ucx_keyring, link);
}

/* What precedes each packed key, and what the whole is checked by: damage that
 * is not meant would go unnoticed by UCX. */
struct packed {
    uint32_t length;
    uint32_t check;
};

static uint32_t
check_of(const void *bytes, size_t length)
{
    const unsigned char *byte = bytes;
    uint64_t hash = UINT64_C(0xCBF29CE484222325) ^ length;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001B3);
    return (uint32_t) (hash ^ hash >> 32);
}

/* The area that a segment lies in, NULL if in none. */
static const struct ucx_area *
area_of(const na_plugin_class *cls, const na_plugin_segment *segment)
{
    const unsigned char *base = segment->base;

    for (struct tp_link *link = cls->areas.head; link != NULL;
         link = link->next) {
        const struct ucx_area *area = area_at(link);
        if (base >= area->memory && base < area->memory + area->length &&
            segment->length <= area->length - (uint64_t) (base - area->memory))
            return area;
    }
    return NULL;
}

static ucs_status_t
map(na_plugin_class *cls, const na_plugin_segment *segment, uint32_t access,
    ucp_mem_h *handle_p)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_PROT,
        .address = segment->base,
        .length = segment->length,
        .prot = UCP_MEM_MAP_PROT_LOCAL_READ | UCP_MEM_MAP_PROT_LOCAL_WRITE};

    if ((access & NA_PLUGIN_MEM_READ) != 0)
        params.prot |= UCP_MEM_MAP_PROT_REMOTE_READ;
    if ((access & NA_PLUGIN_MEM_WRITE) != 0)
        params.prot |= UCP_MEM_MAP_PROT_REMOTE_WRITE;
    return ucp_mem_map(cls->context, &params, handle_p);
}

/* Appends the key of a handle to a registration's. */
static bool
append_key(na_plugin_class *cls, na_plugin_mem *mem, ucp_mem_h handle)
{
    void *key;
    size_t length;

    /* not ucp_memh_pack, which newer versions have: it ends the process when it
     * is asked for a key */
    if (ucp_rkey_pack(cls->context, handle, &key, &length) != UCS_OK)
        return false;
    struct packed packed = {
        .length = (uint32_t) length, .check = check_of(key, length)};
    unsigned char *keys =
        length <= KEY_LONGEST
            ? realloc(mem->keys, mem->keys_length + sizeof(packed) + length)
            : NULL;
    if (keys != NULL) {
        memcpy(keys + mem->keys_length, &packed, sizeof(packed));
        memcpy(keys + mem->keys_length + sizeof(packed), key, length);
        mem->keys = keys;
        mem->keys_length += (uint32_t) (sizeof(packed) + length);
    }
    ucp_rkey_buffer_release(key);
    return keys != NULL;
}

void
ucx_key_map(na_plugin_class *cls, na_plugin_mem *mem)
{
    if (!cls->keys || mem->mem.count > KEYS_MOST)
        return;
    mem->handles = calloc(mem->mem.count, sizeof(ucp_mem_h));
    bool whole = mem->handles != NULL;
    for (uint32_t i = 0; i < mem->mem.count && whole; i++) {
        const struct ucx_area *area = area_of(cls, &mem->segments[i]);
        if (area == NULL)
            whole = map(cls, &mem->segments[i], mem->mem.access,
                        &mem->handles[i]) == UCS_OK;
        whole = whole && append_key(cls, mem,
                             area != NULL ? area->handle : mem->handles[i]);
    }
    if (!whole) {
        ucx_key_unmap(cls, mem);
        free(mem->keys);
        mem->keys = NULL;
        mem->keys_length = 0;
    }
}

void
ucx_key_unmap(na_plugin_class *cls, na_plugin_mem *mem)
{
    for (uint32_t i = 0; mem->handles != NULL && i < mem->mem.count; i++)
        if (mem->handles[i] != NULL)
            ucp_mem_unmap(cls->context, mem->handles[i]);
    free(mem->handles);
    mem->handles = NULL;
}

bool
ucx_key_sound(const na_plugin_mem *mem)
{
    uint32_t at = 0;

    if (mem->keys_length == 0)
        return true;
    for (uint32_t i = 0; i < mem->mem.count; i++) {
        struct packed packed;
        if (mem->keys_length - at < sizeof(packed))
            return false;
        memcpy(&packed, mem->keys + at, sizeof(packed));
        at += (uint32_t) sizeof(packed);
        if (packed.length == 0 || packed.length > KEY_LONGEST ||
            packed.length > mem->keys_length - at ||
            packed.check != check_of(mem->keys + at, packed.length))
            return false;
        at += packed.length;
    }
    return at == mem->keys_length;
}

static void
ring_free(struct ucx_keyring *ring)
{
    for (uint32_t i = 0; i < ring->count; i++)
        if (ring->keys[i] != NULL)
            ucp_rkey_destroy(ring->keys[i]);
    free(ring);
}

/* Unpacks one key, from a copy, since UCX is not told where the bytes end. */
static bool
unpack(struct ucx_conn *conn, const unsigned char *key, uint32_t length,
    ucp_rkey_h *key_p)
{
    alignas(16) unsigned char copy[KEY_LONGEST + PADDING] = {0};

    memcpy(copy, key, length);
    return ucp_ep_rkey_unpack(conn->ep, copy, key_p) == UCS_OK;
}

/* Unpacks all keys; native if UCX can use all of them by itself. */
static void
fill(struct ucx_keyring *ring)
{
    const na_plugin_mem *mem = ring->mem;
    const unsigned char *at = mem->keys;

    ring->native = true;
    for (uint32_t i = 0; i < ring->count && ring->native; i++) {
        struct packed packed;
        void *mapped;
        memcpy(&packed, at, sizeof(packed));
        at += sizeof(packed);
        ring->native = unpack(ring->conn, at, packed.length, &ring->keys[i]);
        if (ring->native && !ring->conn->rma_reach)
            ring->native = ucp_rkey_ptr(ring->keys[i],
                               (uint64_t) (uintptr_t) mem->segments[i].base,
                               &mapped) == UCS_OK;
        at += packed.length;
    }
}

struct ucx_keyring *
ucx_key_ring(struct ucx_conn *conn, na_plugin_mem *mem)
{
    if (!conn->rma_known)
        ucx_lane_look(conn);
    if (!conn->rma_native || mem->keys_length == 0)
        return NULL;
    for (struct tp_link *link = mem->rings.head; link != NULL;
         link = link->next) {
        struct ucx_keyring *ring = keyring_of(link);
        if (ring->conn == conn)
            return ring->native ? ring : NULL;
    }
    struct ucx_keyring *ring =
        calloc(1, sizeof(*ring) + mem->mem.count * sizeof(ucp_rkey_h));
    if (ring == NULL)
        return NULL;
    ring->mem = mem;
    ring->conn = conn;
    ring->count = mem->mem.count;
    fill(ring);
    tp_list_append(&mem->rings, &ring->link);
    ring->next = conn->keys;
    conn->keys = ring;
    return ring->native ? ring : NULL;
}

void
ucx_key_forget_mem(na_plugin_mem *mem)
{
    struct tp_link *link;

    while ((link = tp_list_pop(&mem->rings)) != NULL) {
        struct ucx_keyring *ring = keyring_of(link);
        struct ucx_keyring **at = &ring->conn->keys;
        while (*at != ring)
            at = &(*at)->next;
        *at = ring->next;
        ring_free(ring);
    }
}

void
ucx_key_forget_conn(struct ucx_conn *conn)
{
    struct ucx_keyring *ring;

    while ((ring = conn->keys) != NULL) {
        conn->keys = ring->next;
        tp_list_remove(&ring->mem->rings, &ring->link);
        ring_free(ring);
    }
}

static int32_t
area_alloc(na_plugin_class *cls, uint64_t length, void **memory_p)
{
    uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);
    ucp_mem_map_params_t params = {
        .field_mask =
            UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
        .flags = UCP_MEM_MAP_ALLOCATE};
    ucp_mem_attr_t attr = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};

    if (length == 0 || length > SIZE_MAX / 2)
        return NA_PLUGIN_E_NOMEM;
    struct ucx_area *area = calloc(1, sizeof(*area));
    if (area == NULL)
        return NA_PLUGIN_E_NOMEM;
    area->length = (length + page - 1) / page * page;
    /* a page more: UCX does not say how it aligns */
    params.length = area->length + page;
    tp_mutex_take(&cls->lock);
    ucs_status_t status = ucp_mem_map(cls->context, &params, &area->handle);
    if (status == UCS_OK)
        status = ucp_mem_query(area->handle, &attr);
    if (status == UCS_OK) {
        uintptr_t start = ((uintptr_t) attr.address + page - 1) / page * page;
        area->memory =
            (unsigned char *) attr.address + (start - (uintptr_t) attr.address);
        tp_list_append(&cls->areas, &area->link);
    }
    tp_mutex_drop(&cls->lock);
    if (status != UCS_OK) {
        TP_LOG(cls->host, WARNING, "cannot allocate %" PRIu64 " bytes: %s",
            length, ucs_status_string(status));
        free(area);
        return NA_PLUGIN_E_NOMEM;
    }
    memset(area->memory, 0, area->length);
    *memory_p = area->memory;
    return NA_PLUGIN_OK;
}

static void
area_free(na_plugin_class *cls, void *memory)
{
    tp_mutex_take(&cls->lock);
    for (struct tp_link *link = cls->areas.head; link != NULL;
         link = link->next) {
        struct ucx_area *area = area_at(link);
        if (area->memory != memory)
            continue;
        tp_list_remove(&cls->areas, link);
        ucp_mem_unmap(cls->context, area->handle);
        free(area);
        break;
    }
    tp_mutex_drop(&cls->lock);
}

void
ucx_key_fini(na_plugin_class *cls)
{
    struct tp_link *link;

    while ((link = tp_list_pop(&cls->areas)) != NULL) {
        ucp_mem_unmap(cls->context, area_at(link)->handle);
        free(area_at(link));
    }
}

const na_plugin_mem_alloc ucx_mem_alloc = {
    .size = sizeof(ucx_mem_alloc),
    .alloc = area_alloc,
    .free = area_free,
};

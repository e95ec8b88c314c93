/* SPDX-License-Identifier: BSD-3-Clause */
/* Which registrations are there. libfabric's shm drops a put or get that its
 * owner refuses, keeps its buffers, and reports no error. So nothing is
 * submitted that would be refused: each class has a table of its registrations
 * in memory that its peers may read.
 *
 * The table is an anonymous file, which the kernel frees however its process
 * ends. Peers find it among the owner's descriptors in /proc, by the name of
 * the owner's endpoint, which begins with the number of its process. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../mem.h"
#include "../ofi.h"
#include "../peer.h"
#include "../queue.h"
#include "../quirk.h"
#include "common/memfd.h"
#include "common/table.h"

#define MAGIC UINT64_C(0x316469617661666f)
#define PLACES 65536U
#define NAME_MAX_BYTES (OFI_NAME_MAX + 32U)

/* In shared memory. */
struct registrations {
    uint64_t magic;
    uint64_t number;           /* of the class */
    _Atomic uint64_t unlisted; /* registrations that found no place */
    alignas(64) _Atomic uint64_t digests[PLACES]; /* 0: none */
};

/* What is known of a peer's. */
struct shown {
    struct tp_keyed keyed;       /* by peer */
    struct registrations *table; /* NULL: not found for this number */
    uint64_t number;
};

struct shm_registrations {
    struct registrations *table; /* NULL without */
    uint32_t count;
    int fd;
    struct tp_table shown;
};

extern const struct ofi_quirk ofi_quirk_shm_registrations;

static struct shm_registrations *
data_of(const struct ofi_endpoint *ep)
{
    return ofi_quirk_data(ep, &ofi_quirk_shm_registrations);
}

static void
init(struct ofi_endpoint *ep)
{
    data_of(ep)->fd = -1;
}

/* The name of the file of an endpoint. */
static void
name_file(const struct ofi_name *name, char text[NAME_MAX_BYTES])
{
    snprintf(text, NAME_MAX_BYTES, "talaria-ofi/%.*s", (int) name->length,
        (const char *) name->bytes);
}

/* THE CLASS'S OWN */

static int32_t
opened(struct ofi_endpoint *ep)
{
    struct shm_registrations *own = data_of(ep);
    char name[NAME_MAX_BYTES];

    if (tp_table_init(&own->shown) != NA_PLUGIN_OK) {
        TP_LOG(ep->cls->host, ERROR, "out of memory for a class");
        return NA_PLUGIN_E_NOMEM;
    }
    name_file(&ep->own_name, name);
    int error = tp_memfd_create(name, sizeof(struct registrations), &own->fd);
    void *memory = error != 0
                       ? MAP_FAILED
                       : mmap(NULL, sizeof(struct registrations),
                             PROT_READ | PROT_WRITE, MAP_SHARED, own->fd, 0);
    if (error == 0)
        error = memory == MAP_FAILED ? errno : tp_memfd_seal(own->fd, true);
    if (error != 0) {
        TP_LOG(ep->cls->host, INFO, "no shared table of registrations: %s",
            tp_memfd_error(error));
        if (memory != MAP_FAILED)
            munmap(memory, sizeof(struct registrations));
        if (own->fd >= 0)
            close(own->fd);
        own->fd = -1;
        return NA_PLUGIN_OK;
    }
    own->table = memory;
    own->table->number = ep->cls->number;
    own->table->magic = MAGIC;
    return NA_PLUGIN_OK;
}

static bool
leaving(struct ofi_endpoint *ep)
{
    struct shm_registrations *own = data_of(ep);

    if (own->table == NULL)
        return true;
    munmap(own->table, sizeof(*own->table));
    close(own->fd);
    own->table = NULL;
    own->fd = -1;
    return true;
}

static void
closed(struct ofi_endpoint *ep)
{
    tp_table_fini(&data_of(ep)->shown);
}

static bool
owns_descriptor(const struct ofi_endpoint *ep, int fd)
{
    return fd == data_of(ep)->fd;
}

static uint64_t
mix(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return digest ^ digest >> 32;
}

/* Of a registration as it is described; not 0. */
static uint64_t
digest_of(const na_plugin_mem *mem)
{
    uint64_t digest = mix(mem->mem.owner, mem->mem.keyed.key);

    digest = mix(digest, (uint64_t) mem->mem.access << 32 | mem->mem.count);
    for (uint32_t i = 0; i < mem->mem.count; i++) {
        digest = mix(digest, ofi_mem_address(mem, i));
        digest = mix(digest, mem->segments[i].length);
        digest = mix(digest, mem->keys[i].key);
    }
    return digest != 0 ? digest : 1;
}

static void
memory_described(struct ofi_endpoint *ep, na_plugin_mem *mem)
{
    mem->digest = digest_of(mem);
}

static _Atomic uint64_t *
place_of(struct registrations *table, const na_plugin_mem *mem)
{
    return &table->digests[mem->mem.keyed.key % PLACES];
}

/* If a place is taken, the next number is tried. */
static void
memory_added(struct ofi_endpoint *ep, na_plugin_mem *mem)
{
    struct shm_registrations *own = data_of(ep);
    struct registrations *table = own->table;
    _Atomic uint64_t *place = NULL;

    if (table == NULL)
        return;
    if (own->count == PLACES) {
        atomic_fetch_add_explicit(&table->unlisted, 1, memory_order_relaxed);
        return;
    }
    while (atomic_load_explicit(
               place = place_of(table, mem), memory_order_relaxed) != 0)
        mem->mem.keyed.key = ++ep->cls->memory_id;
    mem->digest = digest_of(mem);
    own->count++;
    /* release: pairs with rma_permitted */
    atomic_store_explicit(place, mem->digest, memory_order_release);
}

static void
memory_removed(struct ofi_endpoint *ep, const na_plugin_mem *mem)
{
    struct shm_registrations *own = data_of(ep);

    if (own->table == NULL)
        return;
    if (mem->digest == 0)
        atomic_fetch_sub_explicit(
            &own->table->unlisted, 1, memory_order_relaxed);
    else {
        /* pairs with rma_submitted of shm_stuck_rma.c */
        atomic_store(place_of(own->table, mem), 0);
        own->count--;
    }
}

/* Takes what peers had begun with it. */
static void
memory_settle(struct ofi_endpoint *ep)
{
    if (data_of(ep)->table == NULL)
        return;
    tp_mutex_take(&ep->lock);
    ofi_queue_drain(ep);
    tp_mutex_drop(&ep->lock);
}

/* A PEER'S */

/* The owner's process, by its name: "fi_shm://PROCESS:…". 0: malformed. */
static long
process_of(const struct ofi_name *name)
{
    char text[OFI_NAME_MAX + 1];
    char *end = NULL;

    memcpy(text, name->bytes, name->length);
    text[name->length] = '\0';
    const char *number = strstr(text, "://");
    if (number == NULL || number[3] < '1' || number[3] > '9')
        return 0;
    long process = strtol(number + 3, &end, 10);
    return *end == ':' ? process : 0;
}

static struct registrations *
map_file(int fd)
{
    if (tp_memfd_check(fd, sizeof(struct registrations)) != NULL)
        return NULL;
    struct registrations *table =
        mmap(NULL, sizeof(*table), PROT_READ, MAP_SHARED, fd, 0);
    if (table == MAP_FAILED)
        return NULL;
    if (table->magic == MAGIC)
        return table;
    munmap(table, sizeof(*table));
    return NULL;
}

/* The file of that name among those in a folder of descriptors; -1: there is
 * none. */
static int
open_file(DIR *folder, const struct ofi_name *name)
{
    char file[NAME_MAX_BYTES], wanted[NAME_MAX_BYTES + 32];
    char target[NAME_MAX_BYTES + 32];
    const struct dirent *entry = NULL;

    name_file(name, file);
    int length = snprintf(wanted, sizeof(wanted), "/memfd:%s (deleted)", file);
    while ((entry = readdir(folder)) != NULL)
        if (readlinkat(dirfd(folder), entry->d_name, target, sizeof(target)) ==
                length &&
            memcmp(target, wanted, (size_t) length) == 0)
            return openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC);
    return -1;
}

static struct registrations *
find(const struct ofi_name *name)
{
    struct registrations *table = NULL;
    char path[64];
    long process = process_of(name);

    snprintf(path, sizeof(path), "/proc/%ld/fd", process);
    DIR *folder = process != 0 ? opendir(path) : NULL;
    if (folder == NULL)
        return NULL;
    int fd = open_file(folder, name);
    if (fd >= 0) {
        table = map_file(fd);
        close(fd);
    }
    closedir(folder);
    return table;
}

static struct shown *
shown_of(const struct ofi_endpoint *ep, const struct ofi_peer *peer)
{
    struct tp_keyed *keyed = tp_table_find(&data_of(ep)->shown, peer, 0);

    return keyed != NULL ? TP_OBJECT(keyed, struct shown, keyed) : NULL;
}

static void
peer_freed(struct ofi_endpoint *ep, const struct ofi_peer *peer)
{
    struct shown *shown = shown_of(ep, peer);

    if (shown == NULL)
        return;
    if (shown->table != NULL)
        munmap(shown->table, sizeof(*shown->table));
    tp_table_remove(&data_of(ep)->shown, &shown->keyed);
    free(shown);
}

/* Looks for a peer's table; again when another class is there. */
static struct registrations *
seek(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    struct shown *shown = shown_of(ep, peer);

    if (shown != NULL && shown->number == peer->number)
        return NULL;
    peer_freed(ep, peer);
    shown = calloc(1, sizeof(*shown));
    if (shown == NULL)
        return NULL;
    shown->keyed.owner = peer;
    shown->number = peer->number;
    shown->table = find(&peer->addr->name);
    tp_table_insert(&data_of(ep)->shown, &shown->keyed);
    if (shown->table == NULL)
        TP_LOG(ep->cls->host, INFO,
            "%.*s: no table of its registrations: puts and gets that it "
            "refuses never end",
            (int) peer->addr->name.length,
            (const char *) peer->addr->name.bytes);
    return shown->table;
}

/* Also true where the table cannot be read. */
static bool
rma_permitted(struct ofi_endpoint *ep, struct ofi_peer *peer,
    const na_plugin_mem *described)
{
    const struct shown *shown = shown_of(ep, peer);
    struct registrations *table = shown != NULL ? shown->table : NULL;

    if (table == NULL || (peer->number != 0 && table->number != peer->number))
        table = seek(ep, peer);
    if (table == NULL)
        return true;
    /* acquire: pairs with memory_added */
    return atomic_load_explicit(place_of(table, described),
               memory_order_acquire) == described->digest ||
           atomic_load_explicit(&table->unlisted, memory_order_relaxed) != 0;
}

const struct ofi_quirk ofi_quirk_shm_registrations = {.provider = "shm",
    .data_size = sizeof(struct shm_registrations),
    .init = init,
    .opened = opened,
    .leaving = leaving,
    .closed = closed,
    .peer_freed = peer_freed,
    .memory_added = memory_added,
    .memory_removed = memory_removed,
    .memory_settle = memory_settle,
    .memory_described = memory_described,
    .rma_permitted = rma_permitted,
    .owns_descriptor = owns_descriptor};

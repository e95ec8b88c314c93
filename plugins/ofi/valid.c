/* SPDX-License-Identifier: BSD-3-Clause */
/* The table is an anonymous file, which goes with its process however that ends.
 * Peers find it among the owner's descriptors in /proc, by the name of the
 * owner's endpoint, which begins with the number of its process. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "progress.h"
#include "receive.h"
#include "valid.h"

#define MAGIC UINT64_C(0x316469617661666f)
#define PLACES 65536U
#define TAKES 64U /* batches of completions at once */
#define QUIET 2U  /* of them in a row without one: all has been taken */
#define NAME_MAX_BYTES (OFI_NAME_MAX + 32U)

struct ofi_valid {
    uint64_t magic;
    uint64_t number;           /* of the class */
    _Atomic uint64_t unlisted; /* registrations that found no place */
    alignas(64) _Atomic uint64_t digests[PLACES]; /* 0: none */
};

/* The name of the file of an endpoint. */
static void
name_file(const struct ofi_name *name, char text[NAME_MAX_BYTES])
{
    snprintf(text, NAME_MAX_BYTES, "talaria-ofi/%.*s", (int) name->length,
        (const char *) name->bytes);
}

/* THE CLASS'S OWN */

static int
make_file(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -1;
    if (ftruncate(fd, sizeof(struct ofi_valid)) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        return fd;
    close(fd);
    return -1;
}

void
ofi_valid_init(na_plugin_class *cls)
{
    char name[NAME_MAX_BYTES];

    cls->valid_fd = -1;
    if (!(cls->trait->flags & OFI_TRAIT_NODE))
        return;
    name_file(&cls->own_name, name);
    cls->valid_fd = make_file(name);
    void *memory = cls->valid_fd < 0 ? MAP_FAILED
                                     : mmap(NULL, sizeof(struct ofi_valid),
                                           PROT_READ | PROT_WRITE, MAP_SHARED,
                                           cls->valid_fd, 0);
    if (memory == MAP_FAILED) {
        OFI_LOG(cls->host, INFO,
            "no memory that peers can see registrations in: %s",
            strerror(errno));
        if (cls->valid_fd >= 0)
            close(cls->valid_fd);
        cls->valid_fd = -1;
        return;
    }
    cls->valid = memory;
    cls->valid->number = cls->number;
    cls->valid->magic = MAGIC;
}

void
ofi_valid_fini(na_plugin_class *cls)
{
    if (cls->valid == NULL)
        return;
    munmap(cls->valid, sizeof(*cls->valid));
    close(cls->valid_fd);
    cls->valid = NULL;
}

static uint64_t
mix(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return digest ^ digest >> 32;
}

uint64_t
ofi_valid_digest(const na_plugin_class *cls, const na_plugin_mem *mem)
{
    uint64_t digest = mix(mem->owner, mem->id);

    if (!(cls->trait->flags & OFI_TRAIT_NODE))
        return 0;
    digest = mix(digest, (uint64_t) mem->access << 32 | mem->count);
    for (uint32_t i = 0; i < mem->count; i++) {
        digest = mix(digest, mem->segments[i].address);
        digest = mix(digest, mem->segments[i].length);
        digest = mix(digest, mem->segments[i].key);
    }
    return digest != 0 ? digest : 1;
}

static _Atomic uint64_t *
place_of(struct ofi_valid *valid, const na_plugin_mem *mem)
{
    return &valid->digests[mem->id % PLACES];
}

void
ofi_valid_enter(na_plugin_class *cls, na_plugin_mem *mem)
{
    struct ofi_valid *valid = cls->valid;
    _Atomic uint64_t *place = NULL;

    mem->id = ++cls->memory_id;
    if (valid == NULL)
        return;
    if (cls->valid_count == PLACES) {
        atomic_fetch_add_explicit(&valid->unlisted, 1, memory_order_relaxed);
        return;
    }
    while (atomic_load_explicit(
               place = place_of(valid, mem), memory_order_relaxed) != 0)
        mem->id = ++cls->memory_id;
    mem->digest = ofi_valid_digest(cls, mem);
    cls->valid_count++;
    /* release: pairs with ofi_valid_check */
    atomic_store_explicit(place, mem->digest, memory_order_release);
}

void
ofi_valid_strike(na_plugin_class *cls, const na_plugin_mem *mem)
{
    if (cls->valid == NULL)
        return;
    if (mem->digest == 0)
        atomic_fetch_sub_explicit(
            &cls->valid->unlisted, 1, memory_order_relaxed);
    else {
        /* pairs with ofi_lost_begun */
        atomic_store(place_of(cls->valid, mem), 0);
        cls->valid_count--;
    }
}

void
ofi_valid_settle(na_plugin_class *cls)
{
    if (cls->valid == NULL)
        return;
    ofi_lock_take(&cls->lock);
    for (uint32_t i = 0, quiet = 0; i < TAKES && quiet < QUIET; i++) {
        quiet = ofi_progress_read(cls) == 0 ? quiet + 1 : 0;
        if (cls->unposted.head != NULL)
            ofi_rx_retry(cls);
    }
    ofi_lock_drop(&cls->lock);
}

/* A PEER'S */

/* Whose descriptors to look through: "fi_shm://PROCESS:…". 0: it does not say. */
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

static struct ofi_valid *
map_file(int fd)
{
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(fd, &status) != 0 ||
        status.st_size != sizeof(struct ofi_valid))
        return NULL;
    struct ofi_valid *valid =
        mmap(NULL, sizeof(*valid), PROT_READ, MAP_SHARED, fd, 0);
    if (valid == MAP_FAILED)
        return NULL;
    if (valid->magic == MAGIC)
        return valid;
    munmap(valid, sizeof(*valid));
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

static struct ofi_valid *
find(const struct ofi_name *name)
{
    struct ofi_valid *valid = NULL;
    char path[64];
    long process = process_of(name);

    snprintf(path, sizeof(path), "/proc/%ld/fd", process);
    DIR *folder = process != 0 ? opendir(path) : NULL;
    if (folder == NULL)
        return NULL;
    int fd = open_file(folder, name);
    if (fd >= 0) {
        valid = map_file(fd);
        close(fd);
    }
    closedir(folder);
    return valid;
}

void
ofi_valid_leave(na_plugin_addr *peer)
{
    if (peer->valid != NULL)
        munmap(peer->valid, sizeof(*peer->valid));
    peer->valid = NULL;
    peer->sought = false;
}

/* Looks for a peer's table; again when another class is there. */
static struct ofi_valid *
seek(na_plugin_class *cls, na_plugin_addr *peer)
{
    if (peer->sought && peer->sought_number == peer->number)
        return NULL;
    ofi_valid_leave(peer);
    peer->valid = find(&peer->name);
    peer->sought = true;
    peer->sought_number = peer->number;
    if (peer->valid == NULL)
        OFI_LOG(cls->host, INFO,
            "%.*s does not show its registrations: what it refuses never ends",
            (int) peer->name.length, (const char *) peer->name.bytes);
    return peer->valid;
}

bool
ofi_valid_check(
    na_plugin_class *cls, na_plugin_addr *peer, const na_plugin_mem *described)
{
    struct ofi_valid *valid = peer->valid;

    if (!(cls->trait->flags & OFI_TRAIT_NODE))
        return true;
    if (valid == NULL || (peer->number != 0 && valid->number != peer->number))
        valid = seek(cls, peer);
    if (valid == NULL)
        return true;
    /* acquire: pairs with ofi_valid_enter */
    return atomic_load_explicit(place_of(valid, described),
               memory_order_acquire) == described->digest ||
           atomic_load_explicit(&valid->unlisted, memory_order_relaxed) != 0;
}

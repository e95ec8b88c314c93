/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots of the registry: taken, written, compared. */
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/memfd.h"
#include "registration.h"
#include "registry.h"

#define SLOT 64U /* bytes; slot 0 is not used */
#define SLOTS (SM_REGISTRY_SIZE / SLOT)

/* At the front of a run of slots; the segments follow. */
struct entry {
    _Atomic uint64_t key; /* 0: free. Written last, and cleared first */
    uint32_t access;
    uint32_t count;
    struct range {
        uint64_t base; /* as wide in a process of 32 bits */
        uint64_t length;
    } segments[];
};

static_assert(sizeof(struct entry) == 16, "layout");
static_assert(SLOTS - 1 <= UINT16_MAX, "a slot's number travels in 16 bits");
static_assert(sizeof(struct entry) + SM_SEGMENTS * sizeof(struct range) <=
                  SLOT << (SM_REGISTRY_RUNS - 1),
    "the longest run holds any registration");

int
sm_registry_init(struct sm_registry *registry)
{
    *registry = (struct sm_registry){.fd = -1, .next = 1};
    int fd;
    int error = tp_memfd_create("talaria-sm-registry", SM_REGISTRY_SIZE, &fd);
    if (error != 0)
        return error;

    unsigned char *memory =
        mmap(NULL, SM_REGISTRY_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    /* calloc: pages that are never used are not touched */
    uint32_t *links = calloc(SLOTS, sizeof(*links));
    error = memory == MAP_FAILED || links == NULL ? ENOMEM
                                                  : tp_memfd_seal(fd, true);
    if (error != 0)
        goto fail;
    registry->fd = fd;
    registry->memory = memory;
    registry->links = links;
    return 0;

fail:
    if (memory != MAP_FAILED)
        munmap(memory, SM_REGISTRY_SIZE);
    free(links);
    close(fd);
    return error;
}

void
sm_registry_fini(struct sm_registry *registry)
{
    if (registry->fd < 0)
        return;
    munmap(registry->memory, SM_REGISTRY_SIZE);
    free(registry->links);
    close(registry->fd);
    registry->fd = -1;
}

/* Which size of run holds that many segments. */
static uint32_t
run_of(uint32_t count)
{
    uint64_t size = sizeof(struct entry) + count * sizeof(struct range);
    uint32_t run = 0;

    while (size > (uint64_t) SLOT << run)
        run++;
    return run;
}

static struct entry *
entry_at(const struct sm_registry *registry, uint32_t slot)
{
    return (struct entry *) (void *) (registry->memory + (size_t) slot * SLOT);
}

void
sm_registry_enter(struct sm_registry *registry, na_plugin_mem *mem)
{
    uint32_t run = run_of(mem->mem.count);

    mem->slot = 0;
    if (registry->fd < 0)
        return;
    uint32_t slot = registry->free[run];
    if (slot != 0) {
        registry->free[run] = registry->links[slot];
    } else if (SLOTS - registry->next >= UINT32_C(1) << run) {
        slot = registry->next;
        registry->next += UINT32_C(1) << run;
    } else {
        return;
    }

    struct entry *entry = entry_at(registry, slot);
    entry->access = mem->mem.access;
    entry->count = mem->mem.count;
    for (uint32_t i = 0; i < mem->mem.count; i++)
        entry->segments[i] =
            (struct range){.base = (uintptr_t) mem->segments[i].base,
                .length = mem->segments[i].length};
    /* release: pairs with the acquire in sm_registry_has */
    atomic_store_explicit(
        &entry->key, mem->mem.keyed.key, memory_order_release);
    mem->slot = slot;
}

void
sm_registry_remove(struct sm_registry *registry, const na_plugin_mem *mem)
{
    if (mem->slot == 0)
        return;
    /* seq_cst: before anything that the owner does with the memory afterwards */
    atomic_store_explicit(
        &entry_at(registry, mem->slot)->key, 0, memory_order_seq_cst);
    uint32_t run = run_of(mem->mem.count);
    registry->links[mem->slot] = registry->free[run];
    registry->free[run] = mem->slot;
}

const char *
sm_registry_map(int fd, const unsigned char **registry_p)
{
    const char *wrong = tp_memfd_check(fd, SM_REGISTRY_SIZE);
    if (wrong != NULL)
        return wrong;
    void *mapping = mmap(NULL, SM_REGISTRY_SIZE, PROT_READ, MAP_SHARED, fd, 0);
    if (mapping == MAP_FAILED)
        return "its registry cannot be mapped";
    *registry_p = mapping;
    return NULL;
}

void
sm_registry_unmap(const unsigned char *registry)
{
    if (registry != NULL)
        munmap((void *) (uintptr_t) registry, SM_REGISTRY_SIZE);
}

static bool
has_segments(const struct entry *entry, const na_plugin_mem *mem)
{
    for (uint32_t i = 0; i < mem->mem.count; i++)
        if (entry->segments[i].base != (uintptr_t) mem->segments[i].base ||
            entry->segments[i].length != mem->segments[i].length)
            return false;
    return true;
}

bool
sm_registry_has(const unsigned char *registry, const na_plugin_mem *mem)
{
    uint64_t at = (uint64_t) mem->slot * SLOT;
    uint64_t size = mem->mem.count * sizeof(struct range);

    if (mem->slot == 0 || mem->slot >= SLOTS ||
        size > SM_REGISTRY_SIZE - at - sizeof(struct entry))
        return false;
    const struct entry *entry = (const void *) (registry + at);
    /* acquire: pairs with the release in sm_registry_enter */
    if (atomic_load_explicit(&entry->key, memory_order_acquire) !=
        mem->mem.keyed.key)
        return false;
    bool same = (mem->mem.access & ~entry->access) == 0 &&
                entry->count == mem->mem.count && has_segments(entry, mem);
    /* the slot may have been given to another registration meanwhile */
    atomic_thread_fence(memory_order_acquire);
    return same && atomic_load_explicit(&entry->key, memory_order_relaxed) ==
                       mem->mem.keyed.key;
}

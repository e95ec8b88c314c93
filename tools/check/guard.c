/* SPDX-License-Identifier: BSD-3-Clause */
/* Guarded memory, and the explanation of a fault in it. */
#include "check/guard.h"

#include "check/shared.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CANARY 0xA5
#define SLOTS 8192U
#define FRONT 64U

/* Read by a signal handler while other threads write: each field by itself. An
 * entry is read only while it is in use. */
struct slot {
    _Atomic(unsigned char *) mapping; /* NULL: free */
    _Atomic size_t mapped;
    _Atomic uint32_t rule;
    _Atomic(const char *) text;
    _Atomic uint32_t beyond_rule;
    _Atomic(const char *) beyond_text;
};

static struct slot slots[SLOTS];
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t next_slot;

static size_t
page_size(void)
{
    return (size_t) sysconf(_SC_PAGESIZE);
}

static uint32_t
slot_take(unsigned char *mapping, size_t mapped)
{
    uint32_t tried = 0;
    struct slot *slot;

    pthread_mutex_lock(&slots_lock);
    do {
        slot = &slots[next_slot];
        next_slot = (next_slot + 1) % SLOTS;
        tried++;
    } while (atomic_load_explicit(&slot->mapping, memory_order_relaxed) &&
             tried < SLOTS);
    if (tried == SLOTS)
        kit_not_run("more guarded blocks than %u", SLOTS);
    atomic_store_explicit(&slot->rule, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->mapped, mapped, memory_order_relaxed);
    atomic_store_explicit(&slot->beyond_rule, 12, memory_order_relaxed);
    atomic_store_explicit(&slot->beyond_text,
        "nothing beyond the end of what is given is touched",
        memory_order_relaxed);
    /* Pairs with the acquire of kit_guard_explain. */
    atomic_store_explicit(&slot->mapping, mapping, memory_order_release);
    pthread_mutex_unlock(&slots_lock);
    return (uint32_t) (slot - slots);
}

void
kit_guarded_create(struct kit_guarded *guarded, size_t length, size_t align)
{
    size_t page = page_size();
    size_t mapped = (length + 2 * align + FRONT + page - 1) & ~(page - 1);
    unsigned char *mapping = mmap(NULL, mapped + page, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t at;

    if (mapping == MAP_FAILED || mprotect(mapping + mapped, page, PROT_NONE))
        kit_not_run("out of memory for %zu bytes", length);
    at = ((uintptr_t) mapping + mapped - length) & ~(uintptr_t) (align - 1);
    if (align > 1 && (at & align) == 0)
        at -= align;
    guarded->memory = mapping + (at - (uintptr_t) mapping);
    guarded->length = length;
    guarded->mapping = mapping;
    guarded->mapped = mapped;
    memset(guarded->memory - FRONT, CANARY, FRONT);
    memset(guarded->memory + length, CANARY,
        (size_t) (mapping + mapped - guarded->memory) - length);
    guarded->slot = slot_take(mapping, mapped + page);
}

void
kit_guarded_destroy(struct kit_guarded *guarded)
{
    if (!guarded->mapping)
        return;
    atomic_store_explicit(
        &slots[guarded->slot].mapping, NULL, memory_order_relaxed);
    munmap(guarded->mapping, guarded->mapped + page_size());
    memset(guarded, 0, sizeof *guarded);
}

void
kit_guarded_limit(struct kit_guarded *guarded, uint32_t rule, const char *text)
{
    struct slot *slot = &slots[guarded->slot];

    atomic_store_explicit(&slot->beyond_rule, rule, memory_order_relaxed);
    atomic_store_explicit(&slot->beyond_text, text, memory_order_relaxed);
}

void
kit_guarded_protect(struct kit_guarded *guarded, enum kit_lock lock,
    uint32_t rule, const char *text)
{
    static const int protections[] = {
        [KIT_OPEN] = PROT_READ | PROT_WRITE,
        [KIT_READABLE] = PROT_READ,
        [KIT_CLOSED] = PROT_NONE,
    };
    struct slot *slot = &slots[guarded->slot];

    atomic_store_explicit(&slot->text, text, memory_order_relaxed);
    /* Pairs with the acquire of kit_guard_explain. */
    atomic_store_explicit(
        &slot->rule, lock == KIT_OPEN ? 0 : rule, memory_order_release);
    if (mprotect(guarded->mapping, guarded->mapped, protections[lock]) != 0)
        kit_not_run("mprotect fails");
}

bool
kit_guarded_intact(const struct kit_guarded *guarded)
{
    const unsigned char *end = guarded->mapping + guarded->mapped;

    for (size_t i = 1; i <= FRONT; i++)
        if (*(guarded->memory - i) != CANARY)
            return false;
    for (const unsigned char *p = guarded->memory + guarded->length; p < end;
         p++)
        if (*p != CANARY)
            return false;
    return true;
}

bool
kit_guard_explain(const void *address, uint32_t *rule_p, const char **text_p)
{
    const unsigned char *at = address;

    for (uint32_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &slots[i];
        /* Pairs with the release of slot_take. */
        unsigned char *mapping =
            atomic_load_explicit(&slot->mapping, memory_order_acquire);
        size_t mapped =
            atomic_load_explicit(&slot->mapped, memory_order_relaxed);

        if (!mapping || at < mapping || at >= mapping + mapped)
            continue;
        /* Pairs with the release of kit_guarded_protect. */
        *rule_p = atomic_load_explicit(&slot->rule, memory_order_acquire);
        *text_p = atomic_load_explicit(&slot->text, memory_order_relaxed);
        if (*rule_p == 0 || at >= mapping + mapped - page_size()) {
            *rule_p =
                atomic_load_explicit(&slot->beyond_rule, memory_order_relaxed);
            *text_p =
                atomic_load_explicit(&slot->beyond_text, memory_order_relaxed);
        }
        return true;
    }
    return false;
}

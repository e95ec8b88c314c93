/* SPDX-License-Identifier: BSD-3-Clause */
/* The allocators, and a table of memory that belongs to our objects. Compiled
 * without sanitizers: the dynamic linker calls these functions before a
 * sanitizer is initialized. */
#include "heap.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SLOTS 65536U /* a power of two */

/* The sanitizer's, if there is one, and the C library's. */
#define REAL(ret, name, params)                                                \
    ret __interceptor_##name params __attribute__((weak));                     \
    ret __libc_##name params;
REAL(void *, malloc, (size_t))
REAL(void *, calloc, (size_t, size_t))
REAL(void *, realloc, (void *, size_t))
REAL(void, free, (void *) )
void *__interceptor_memalign(size_t, size_t) __attribute__((weak));
void *__libc_memalign(size_t, size_t);

struct slot {
    void *memory; /* NULL: never used; TAKEN: freed */
    size_t size;
    struct frames frames;
};

static char taken;
#define TAKEN ((void *) &taken)

static struct slot *slots;
static pthread_spinlock_t lock;
static atomic_bool counting, tracking;
static enum heap_scope scope;
static atomic_long countdown, count;
static atomic_bool failed;
static char *failure;
static size_t failure_size;
static _Thread_local bool inside __attribute__((tls_model("initial-exec")));

void
heap_begin(enum heap_scope wanted, long fail_at, char *stack_text, size_t size)
{
    failure = stack_text;
    failure_size = size;
    frames_begin();
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    slots = mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slots == MAP_FAILED)
        abort();
    scope = wanted;
    countdown = fail_at;
    tracking = true;
    counting = true;
}

void
heap_end(void)
{
    counting = false;
}

long
heap_count(void)
{
    return count;
}

bool
heap_failed(void)
{
    return failed;
}

static uint32_t
slot_of(const void *memory)
{
    return (uint32_t) (((uintptr_t) memory >> 4) *
                           UINT64_C(0x9E3779B97F4A7C15) >>
                       48) &
           (SLOTS - 1);
}

static void
note(void *memory, size_t size, const struct frames *frames)
{
    uint32_t i = slot_of(memory);

    pthread_spin_lock(&lock);
    for (uint32_t n = 0; n < SLOTS; n++, i = (i + 1) & (SLOTS - 1)) {
        if (slots[i].memory && slots[i].memory != TAKEN)
            continue;
        slots[i].memory = memory;
        slots[i].size = size;
        slots[i].frames = *frames;
        break;
    }
    pthread_spin_unlock(&lock);
}

static void
forget(const void *memory)
{
    uint32_t i = slot_of(memory);

    if (!tracking || !memory)
        return;
    pthread_spin_lock(&lock);
    for (uint32_t n = 0; n < SLOTS && slots[i].memory;
         n++, i = (i + 1) & (SLOTS - 1)) {
        if (slots[i].memory == memory) {
            slots[i].memory = TAKEN;
            break;
        }
    }
    pthread_spin_unlock(&lock);
}

unsigned
heap_left(char *text, size_t size)
{
    unsigned left = 0;

    tracking = false;
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (!slots[i].memory || slots[i].memory == TAKEN)
            continue;
        if (left++ == 0) {
            int length = snprintf(text, size, "%zu bytes:", slots[i].size);

            frames_print(
                &slots[i].frames, text + length, size - (size_t) length);
        }
    }
    return left;
}

struct asked {
    bool ours; /* tracked if it succeeds */
    struct frames frames;
};

/* Whether this allocation fails. */
static bool
fails(struct asked *asked, const void *from)
{
    enum owner owner;
    bool now = false;

    asked->ours = false;
    if (!counting || inside)
        return false;
    inside = true;
    frames_take(&asked->frames, from);
    owner = frames_owner(&asked->frames);
    asked->ours = owner == OWNER_OURS || owner == OWNER_JANSSON;
    if (owner == OWNER_OURS ||
        (scope == HEAP_ALL &&
            (owner == OWNER_OTHER || owner == OWNER_LOADER))) {
        atomic_fetch_add(&count, 1);
        now = atomic_fetch_sub(&countdown, 1) == 0;
    }
    if (now) {
        frames_print(&asked->frames, failure, failure_size);
        failed = true;
        errno = ENOMEM;
    }
    inside = false;
    return now;
}

static void *
given(const struct asked *asked, void *memory, size_t size)
{
    if (asked->ours && memory)
        note(memory, size, &asked->frames);
    return memory;
}

static void *
aligned(size_t alignment, size_t size)
{
    return __interceptor_memalign ? __interceptor_memalign(alignment, size)
                                  : __libc_memalign(alignment, size);
}

void *
malloc(size_t size)
{
    struct asked asked;

    if (fails(&asked, __builtin_return_address(0)))
        return NULL;
    return given(&asked,
        __interceptor_malloc ? __interceptor_malloc(size) : __libc_malloc(size),
        size);
}

void *
calloc(size_t number, size_t size)
{
    struct asked asked;

    if (fails(&asked, __builtin_return_address(0)))
        return NULL;
    return given(&asked,
        __interceptor_calloc ? __interceptor_calloc(number, size)
                             : __libc_calloc(number, size),
        number * size);
}

void *
realloc(void *memory, size_t size)
{
    struct asked asked;

    if (fails(&asked, __builtin_return_address(0)))
        return NULL;
    forget(memory);
    return given(&asked,
        __interceptor_realloc ? __interceptor_realloc(memory, size)
                              : __libc_realloc(memory, size),
        size);
}

void *
memalign(size_t alignment, size_t size)
{
    struct asked asked;

    if (fails(&asked, __builtin_return_address(0)))
        return NULL;
    return given(&asked, aligned(alignment, size), size);
}

void *
aligned_alloc(size_t alignment, size_t size)
{
    struct asked asked;

    if (fails(&asked, __builtin_return_address(0)))
        return NULL;
    return given(&asked, aligned(alignment, size), size);
}

int
posix_memalign(void **memory_p, size_t alignment, size_t size)
{
    struct asked asked;
    void *memory;

    if (fails(&asked, __builtin_return_address(0)))
        return ENOMEM;
    memory = given(&asked, aligned(alignment, size), size);
    if (!memory)
        return ENOMEM;
    *memory_p = memory;
    return 0;
}

void
free(void *memory)
{
    forget(memory);
    if (__interceptor_free)
        __interceptor_free(memory);
    else
        __libc_free(memory);
}

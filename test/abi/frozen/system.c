/* SPDX-License-Identifier: BSD-3-Clause */
#include "system.h"

#define READ_WRITE 3        /* PROT_READ | PROT_WRITE */
#define PRIVATE_MEMORY 0x22 /* MAP_PRIVATE | MAP_ANONYMOUS */
#define SMALL_FRONT 64U
#define PAGED_FRONT 65536U
#define UNIX 1                    /* AF_UNIX */
#define DATAGRAM_CLOEXEC 02000002 /* SOCK_DGRAM | SOCK_CLOEXEC */
#define MONOTONIC 1

/* Compilers call these by name. */
void *memcpy(void *restrict to, const void *restrict from, size_t length);
void *memset(void *to, int byte, size_t length);

void *
memcpy(void *restrict to, const void *restrict from, size_t length)
{
    unsigned char *target = to;
    const unsigned char *source = from;

    for (size_t i = 0; i < length; i++)
        target[i] = source[i];
    return to;
}

void *
memset(void *to, int byte, size_t length)
{
    unsigned char *target = to;

    for (size_t i = 0; i < length; i++)
        target[i] = (unsigned char) byte;
    return to;
}

/* Each piece is a mapping of its own, and has its length in front. */
void *
sys_alloc(uint64_t length, int paged)
{
    uint64_t front = paged ? PAGED_FRONT : SMALL_FRONT;

    if (length > UINT64_MAX / 2)
        return NULL;
    intptr_t at = system_call(SYS_MMAP, 0, (intptr_t) (length + front),
        READ_WRITE, PRIVATE_MEMORY, -1, 0);
    if (at < 0 && at > -4096)
        return NULL;
    *(uint64_t *) at = length + front;
    return (unsigned char *) at + front;
}

void
sys_free(void *memory, int paged)
{
    if (memory == NULL)
        return;
    unsigned char *at =
        (unsigned char *) memory - (paged ? PAGED_FRONT : SMALL_FRONT);
    CALL3(SYS_MUNMAP, at, *(uint64_t *) (void *) at, 0);
}

void
sys_copy(void *to, const void *from, uint64_t length)
{
    memcpy(to, from, length);
}

uint64_t
sys_length(const char *text)
{
    uint64_t length = 0;

    while (text[length] != '\0')
        length++;
    return length;
}

int
sys_equal(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

void
sys_append(char *buffer, uint64_t size, const char *text)
{
    uint64_t at = sys_length(buffer);

    while (*text != '\0' && at + 1 < size)
        buffer[at++] = *text++;
    buffer[at] = '\0';
}

void
sys_append_number(char *buffer, uint64_t size, uint64_t number)
{
    char digits[17] = {0};
    int at = 16;

    do {
        digits[--at] = "0123456789abcdef"[number & 15U];
        number >>= 4;
    } while (number != 0);
    sys_append(buffer, size, digits + at);
}

void
sys_lock(uint32_t *lock)
{
    while (__atomic_exchange_n(lock, 1U, __ATOMIC_ACQUIRE) != 0)
        CALL1(SYS_SCHED_YIELD, 0);
}

void
sys_unlock(uint32_t *lock)
{
    __atomic_store_n(lock, 0U, __ATOMIC_RELEASE);
}

uint64_t
sys_now(void)
{
    int64_t time[2] = {0, 0};

    CALL3(SYS_CLOCK_GETTIME, MONOTONIC, time, 0);
    return (uint64_t) time[0] * 1000000000U + (uint64_t) time[1];
}

uint64_t
sys_random(void)
{
    uint64_t number = 0;

    CALL3(SYS_GETRANDOM, &number, sizeof(number), 0);
    return number;
}

int32_t
sys_datagram_socket(void)
{
    return (int32_t) CALL3(SYS_SOCKET, UNIX, DATAGRAM_CLOEXEC, 0);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System calls and memory without a C library, on Linux on x86-64 and aarch64:
 * the object needs no library and no symbol of one.
 */
#ifndef FROZEN_SYSTEM_H
#define FROZEN_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
enum {
    SYS_CLOSE = 3,
    SYS_MMAP = 9,
    SYS_MUNMAP = 11,
    SYS_SCHED_YIELD = 24,
    SYS_SOCKET = 41,
    SYS_CONNECT = 42,
    SYS_SENDMSG = 46,
    SYS_RECVMSG = 47,
    SYS_BIND = 49,
    SYS_CLOCK_GETTIME = 228,
    SYS_EPOLL_CTL = 233,
    SYS_EPOLL_CREATE1 = 291,
    SYS_GETRANDOM = 318
};
#elif defined(__aarch64__)
enum {
    SYS_EPOLL_CREATE1 = 20,
    SYS_EPOLL_CTL = 21,
    SYS_CLOSE = 57,
    SYS_CLOCK_GETTIME = 113,
    SYS_SCHED_YIELD = 124,
    SYS_SOCKET = 198,
    SYS_BIND = 200,
    SYS_CONNECT = 203,
    SYS_SENDMSG = 211,
    SYS_RECVMSG = 212,
    SYS_MUNMAP = 215,
    SYS_MMAP = 222,
    SYS_GETRANDOM = 278
};
#else
#error "no system calls of this architecture"
#endif

/* Negated errors of the kernel. */
#define E_INTR (-4)
#define E_AGAIN (-11)
#define E_PIPE (-32)
#define E_ADDRINUSE (-98)
#define E_NOBUFS (-105)
#define E_CONNREFUSED (-111)

/* Returns the result of the kernel: negative for an error. */
static inline intptr_t
system_call(intptr_t number, intptr_t a, intptr_t b, intptr_t c, intptr_t d,
    intptr_t e, intptr_t f)
{
#if defined(__x86_64__)
    intptr_t result;
    register intptr_t r10 __asm__("r10") = d;
    register intptr_t r8 __asm__("r8") = e;
    register intptr_t r9 __asm__("r9") = f;
    __asm__ volatile(
        "syscall"
        : "=a"(result)
        : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
        : "rcx", "r11", "memory");
    return result;
#else
    register intptr_t x8 __asm__("x8") = number;
    register intptr_t x0 __asm__("x0") = a;
    register intptr_t x1 __asm__("x1") = b;
    register intptr_t x2 __asm__("x2") = c;
    register intptr_t x3 __asm__("x3") = d;
    register intptr_t x4 __asm__("x4") = e;
    register intptr_t x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#endif
}

#define CALL1(n, a) system_call(n, (intptr_t) (a), 0, 0, 0, 0, 0)
#define CALL3(n, a, b, c)                                                      \
    system_call(n, (intptr_t) (a), (intptr_t) (b), (intptr_t) (c), 0, 0, 0)
#define CALL4(n, a, b, c, d)                                                   \
    system_call(n, (intptr_t) (a), (intptr_t) (b), (intptr_t) (c),             \
        (intptr_t) (d), 0, 0)

/* As the kernel lays them out. */
struct sys_addr {
    uint16_t family;
    char path[108];
};

struct sys_iov {
    const void *base;
    uint64_t length;
};

struct sys_message {
    void *name;
    uint32_t name_length;
    uint32_t zero;
    struct sys_iov *iov;
    uint64_t iov_count;
    void *control;
    uint64_t control_length;
    int32_t flags;
    uint32_t pad;
};

#if defined(__x86_64__)
#define SYS_PACKED __attribute__((packed))
#else
#define SYS_PACKED
#endif
struct sys_epoll {
    uint32_t events;
    uint64_t data;
} SYS_PACKED;

#define SYS_TRUNCATED 0x20 /* of sys_message.flags */

/* Zeroed memory, aligned to 64 bytes or, with paged, to 64 KiB. NULL: none. */
void *sys_alloc(uint64_t length, int paged);
void sys_free(void *memory, int paged);

void sys_copy(void *to, const void *from, uint64_t length);
uint64_t sys_length(const char *text);
int sys_equal(const char *a, const char *b);
/* Appends a text, or a number in hexadecimal digits, to the text in a buffer. */
void sys_append(char *buffer, uint64_t size, const char *text);
void sys_append_number(char *buffer, uint64_t size, uint64_t number);

/* A spin lock that yields. */
void sys_lock(uint32_t *lock);
void sys_unlock(uint32_t *lock);

uint64_t sys_now(void); /* nanoseconds, monotonic */
uint64_t sys_random(void);
int32_t sys_datagram_socket(void); /* or a negative error */

#endif /* FROZEN_SYSTEM_H */

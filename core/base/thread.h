/* SPDX-License-Identifier: BSD-3-Clause */
/* Which thread is calling, in one instruction where that is known. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>

/* Returns a number of the calling thread, not 0. A thread may get that of one that
 * has ended. */
static inline uintptr_t
base_thread(void)
{
#if defined(__x86_64__) && defined(__LP64__)
    uintptr_t self;

    /* psABI: the word at the thread pointer is its own address. */
    __asm__("movq %%fs:0, %0" : "=r"(self));
    return self;
#elif defined(__aarch64__)
    return (uintptr_t) __builtin_thread_pointer();
#else
    return (uintptr_t) pthread_self();
#endif
}

#endif /* BASE_THREAD_H */

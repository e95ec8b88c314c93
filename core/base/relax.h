/* SPDX-License-Identifier: BSD-3-Clause */
/* A step of a loop that spins. */
#ifndef BASE_RELAX_H
#define BASE_RELAX_H

/* Tells the processor that this thread spins: it saves energy, and the other
 * hardware thread of the core runs faster meanwhile. Takes 10 to 60 ns on x86, and
 * next to no time on others. */
static inline void
base_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

#endif /* BASE_RELAX_H */

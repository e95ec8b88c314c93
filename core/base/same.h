/* SPDX-License-Identifier: BSD-3-Clause */
/* A hint to the compiler. */
#ifndef BASE_SAME_H
#define BASE_SAME_H

/* Returns the pointer and hides its value from the compiler, which then computes the
 * addresses of its members again instead of keeping them in registers during a call:
 * the function would have to save those. Costs no instruction. */
static inline __attribute__((always_inline)) void *
base_same(void *pointer)
{
    __asm__("" : "+r"(pointer));
    return pointer;
}

#endif /* BASE_SAME_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* A hint to the compiler. */
#ifndef BASE_SAME_H
#define BASE_SAME_H

/* Returns the pointer, of which the compiler knows nothing then. It computes what
 * lies at offsets from it anew, rather than keeping such addresses during a call, in
 * registers that the function would have to save. No instruction by itself. */
static inline __attribute__((always_inline)) void *
base_same(void *pointer)
{
    __asm__("" : "+r"(pointer));
    return pointer;
}

#endif /* BASE_SAME_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic integers of 32 and 64 bits, those of the language: in C of
 * <stdatomic.h>, in C++ of <atomic>, which have the same layout.
 *
 * hg_atomic_incr and _decr return the new value, _or, _xor and _and the old
 * one, _cas whether it swapped. A get sees everything written before the set,
 * incr, decr, or, xor, and, or cas whose value it returns; init orders
 * nothing. */
#ifndef MERCURY_ATOMIC_H
#define MERCURY_ATOMIC_H

#include "mercury_util_config.h"

#ifdef __cplusplus
/* Also where a program includes this inside extern "C". */
extern "C++" {
#include <atomic>
}
#define HG_ATOMIC_NS std::
#define HG_ATOMIC_VAR_INIT(x)                                                  \
    {                                                                          \
        x                                                                      \
    }
#else
#include <stdatomic.h>
#define HG_ATOMIC_NS
#define HG_ATOMIC_VAR_INIT(x) (x)
#endif

typedef HG_ATOMIC_NS atomic_int hg_atomic_int32_t;
#if __SIZEOF_LONG__ == 8
typedef HG_ATOMIC_NS atomic_long hg_atomic_int64_t;
#else
typedef HG_ATOMIC_NS atomic_llong hg_atomic_int64_t;
#endif

static HG_UTIL_INLINE void
hg_atomic_init32(hg_atomic_int32_t *ptr, int32_t value)
{
    HG_ATOMIC_NS atomic_store_explicit(
        ptr, value, HG_ATOMIC_NS memory_order_relaxed);
}

static HG_UTIL_INLINE void
hg_atomic_set32(hg_atomic_int32_t *ptr, int32_t value)
{
    HG_ATOMIC_NS atomic_store_explicit(
        ptr, value, HG_ATOMIC_NS memory_order_release);
}

static HG_UTIL_INLINE int32_t
hg_atomic_get32(const hg_atomic_int32_t *ptr)
{
    return HG_ATOMIC_NS atomic_load_explicit(
        ptr, HG_ATOMIC_NS memory_order_acquire);
}

static HG_UTIL_INLINE int32_t
hg_atomic_incr32(hg_atomic_int32_t *ptr)
{
    return HG_ATOMIC_NS atomic_fetch_add_explicit(
               ptr, 1, HG_ATOMIC_NS memory_order_acq_rel) +
           1;
}

static HG_UTIL_INLINE int32_t
hg_atomic_decr32(hg_atomic_int32_t *ptr)
{
    return HG_ATOMIC_NS atomic_fetch_sub_explicit(
               ptr, 1, HG_ATOMIC_NS memory_order_acq_rel) -
           1;
}

static HG_UTIL_INLINE int32_t
hg_atomic_or32(hg_atomic_int32_t *ptr, int32_t value)
{
    return HG_ATOMIC_NS atomic_fetch_or_explicit(
        ptr, value, HG_ATOMIC_NS memory_order_acq_rel);
}

static HG_UTIL_INLINE int32_t
hg_atomic_xor32(hg_atomic_int32_t *ptr, int32_t value)
{
    return HG_ATOMIC_NS atomic_fetch_xor_explicit(
        ptr, value, HG_ATOMIC_NS memory_order_acq_rel);
}

static HG_UTIL_INLINE int32_t
hg_atomic_and32(hg_atomic_int32_t *ptr, int32_t value)
{
    return HG_ATOMIC_NS atomic_fetch_and_explicit(
        ptr, value, HG_ATOMIC_NS memory_order_acq_rel);
}

static HG_UTIL_INLINE bool
hg_atomic_cas32(
    hg_atomic_int32_t *ptr, int32_t compare_value, int32_t swap_value)
{
    int expected = compare_value;

    return HG_ATOMIC_NS atomic_compare_exchange_strong_explicit(ptr, &expected,
        swap_value, HG_ATOMIC_NS memory_order_acq_rel,
        HG_ATOMIC_NS memory_order_acquire);
}

static HG_UTIL_INLINE void
hg_atomic_init64(hg_atomic_int64_t *ptr, int64_t value)
{
    HG_ATOMIC_NS atomic_store_explicit(
        ptr, value, HG_ATOMIC_NS memory_order_relaxed);
}

static HG_UTIL_INLINE void
hg_atomic_set64(hg_atomic_int64_t *ptr, int64_t value)
{
    HG_ATOMIC_NS atomic_store_explicit(
        ptr, value, HG_ATOMIC_NS memory_order_release);
}

static HG_UTIL_INLINE int64_t
hg_atomic_get64(const hg_atomic_int64_t *ptr)
{
    return HG_ATOMIC_NS atomic_load_explicit(
        ptr, HG_ATOMIC_NS memory_order_acquire);
}

static HG_UTIL_INLINE int64_t
hg_atomic_incr64(hg_atomic_int64_t *ptr)
{
    return HG_ATOMIC_NS atomic_fetch_add_explicit(
               ptr, 1, HG_ATOMIC_NS memory_order_acq_rel) +
           1;
}

static HG_UTIL_INLINE int64_t
hg_atomic_decr64(hg_atomic_int64_t *ptr)
{
    return HG_ATOMIC_NS atomic_fetch_sub_explicit(
               ptr, 1, HG_ATOMIC_NS memory_order_acq_rel) -
           1;
}

static HG_UTIL_INLINE int64_t
hg_atomic_or64(hg_atomic_int64_t *ptr, int64_t value)
{
    return HG_ATOMIC_NS atomic_fetch_or_explicit(
        ptr, value, HG_ATOMIC_NS memory_order_acq_rel);
}

static HG_UTIL_INLINE int64_t
hg_atomic_xor64(hg_atomic_int64_t *ptr, int64_t value)
{
    return HG_ATOMIC_NS atomic_fetch_xor_explicit(
        ptr, value, HG_ATOMIC_NS memory_order_acq_rel);
}

static HG_UTIL_INLINE int64_t
hg_atomic_and64(hg_atomic_int64_t *ptr, int64_t value)
{
    return HG_ATOMIC_NS atomic_fetch_and_explicit(
        ptr, value, HG_ATOMIC_NS memory_order_acq_rel);
}

static HG_UTIL_INLINE bool
hg_atomic_cas64(
    hg_atomic_int64_t *ptr, int64_t compare_value, int64_t swap_value)
{
#if __SIZEOF_LONG__ == 8
    long expected = compare_value;
#else
    long long expected = compare_value;
#endif

    return HG_ATOMIC_NS atomic_compare_exchange_strong_explicit(ptr, &expected,
        swap_value, HG_ATOMIC_NS memory_order_acq_rel,
        HG_ATOMIC_NS memory_order_acquire);
}

/* Orders everything before it before everything after it. */
static HG_UTIL_INLINE void
hg_atomic_fence(void)
{
    HG_ATOMIC_NS atomic_thread_fence(HG_ATOMIC_NS memory_order_acq_rel);
}

#endif /* MERCURY_ATOMIC_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of gcc and clang under the names that programs use. */
#ifndef MERCURY_COMPILER_ATTRIBUTES_H
#define MERCURY_COMPILER_ATTRIBUTES_H

/* Visibility of a symbol. */
#define HG_ATTR_ABI_IMPORT __attribute__((visibility("default")))
#define HG_ATTR_ABI_EXPORT __attribute__((visibility("default")))
#define HG_ATTR_ABI_HIDDEN __attribute__((visibility("hidden")))

#define HG_ATTR_UNUSED __attribute__((unused))
#define HG_ATTR_WARN_UNUSED_RESULT __attribute__((warn_unused_result))

/* x aligned to a bytes, or without padding. */
#define HG_ATTR_ALIGNED(x, a) x __attribute__((aligned(a)))
#define HG_ATTR_PACKED_PUSH
#define HG_ATTR_PACKED_POP __attribute__((packed))
#define HG_ATTR_PACKED(x) HG_ATTR_PACKED_PUSH x HG_ATTR_PACKED_POP

/* Positions of two parameters, from 1: the format, and its first value. */
#define HG_ATTR_PRINTF(format_at, values_at)                                   \
    __attribute__((format(printf, format_at, values_at)))

/* Functions that run before main, in the order of their priorities, and at
 * exit. */
#define HG_ATTR_CONSTRUCTOR __attribute__((constructor))
#define HG_ATTR_CONSTRUCTOR_PRIORITY(x) __attribute__((constructor(x)))
#define HG_ATTR_DESTRUCTOR __attribute__((destructor))

/* Marks a case without break. */
#define HG_ATTR_FALLTHROUGH __attribute__((fallthrough))

#endif /* MERCURY_COMPILER_ATTRIBUTES_H */

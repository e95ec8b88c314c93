/* SPDX-License-Identifier: BSD-3-Clause */
/* The implementation of a proc: a position in one buffer. A field takes one
 * comparison and one copy inline, most often in the program (mercury_proc.h); all
 * else is out of line. */
#ifndef PROC_PROC_H
#define PROC_PROC_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "mercury_proc.h"

/* Maximum size of an object, and so of a buffer: sums of two sizes don't
 * overflow, and pointers into a buffer can be subtracted. */
#define PROC_SIZE_MAX ((hg_size_t) PTRDIFF_MAX)

/* Bytes behind the end of an extra buffer, for what takes it over. */
#define PROC_EXTRA_TAIL 8U

/* start <= pos <= end. All three are NULL with HG_FREE: the fast path of a
 * field, which checks only the room left, then fails. */
struct hg_proc {
    union {
        struct {
            char *pos; /* next byte of the message */
            char *end; /* past the last byte of the buffer it is in */
            /* Set by one store of eight bytes. */
            hg_proc_op_t op;
            bool extra;            /* start is an extra buffer, from malloc */
            bool extra_is_callers; /* the caller frees it */
            uint8_t flags;
            uint8_t notes; /* PROC_* */
        };
        struct talaria_proc_window window; /* the same, as programs see it */
    };
    char *start;   /* first byte: the buffer of the caller, or the extra one */
    uint64_t seed; /* with a hash: checksum of data that isn't in the message */
    hg_class_t *hg_class;
    hg_handle_t handle;
    hg_proc_hash_t hash;
};

_Static_assert(sizeof(struct hg_proc) <= 64, "a proc fits in a cache line");
_Static_assert(offsetof(struct hg_proc, window) == 0 &&
                   offsetof(struct hg_proc, pos) ==
                       offsetof(struct talaria_proc_window, next) &&
                   offsetof(struct hg_proc, end) ==
                       offsetof(struct talaria_proc_window, end) &&
                   offsetof(struct hg_proc, op) ==
                       offsetof(struct talaria_proc_window, op),
    "a proc begins with its window");
_Static_assert(
    offsetof(struct talaria_proc_window, next) == 0 &&
        offsetof(struct talaria_proc_window, end) == sizeof(char *) &&
        offsetof(struct talaria_proc_window, op) == 2 * sizeof(char *),
    "programs are compiled with this layout: see mercury_proc.h");

/* Eager data of descriptors: this message has some; none may be added, so that
 * the rest fits. */
#define PROC_EAGER_THERE 0x1U
#define PROC_EAGER_NEVER 0x2U
/* A handle's message is being decoded or freed: it gets no extra buffer, even if
 * the program resets the proc. */
#define PROC_NO_EXTRA 0x4U

/* Initializes a proc in memory of the caller. It decodes an empty message until
 * the first reset. hg_class and handle may be NULL. */
void proc_init(struct hg_proc *proc, hg_class_t *hg_class, hg_handle_t handle,
    hg_proc_hash_t hash);

/* Makes room for `size` more bytes than there are. HG_OVERFLOW unless encoding.
 */
hg_return_t proc_grow(struct hg_proc *proc, hg_size_t size);

/* Encodes a string, which may be NULL. */
hg_return_t proc_string_encode(struct hg_proc *proc, const char *string);

/* Decodes a string: a copy from malloc, or NULL for a NULL string. An error
 * leaves the position as it was. */
hg_return_t proc_string_decode(struct hg_proc *proc, char **string_p);

/* hg_proc_reset without checks, of a proc without a hash and without an extra
 * buffer. start and end are NULL with HG_FREE. */
static inline void
proc_begin(struct hg_proc *proc, char *start, char *end, hg_proc_op_t op)
{
    proc->start = start;
    proc->pos = start;
    proc->end = end;
    proc->op = op;
    proc->extra = false;
    proc->extra_is_callers = false;
    proc->flags = 0;
    proc->notes = op == HG_ENCODE ? 0 : PROC_NO_EXTRA;
}

/* Frees the extra buffer of a proc, unless the caller owns it. */
static inline void
proc_finish(struct hg_proc *proc)
{
    if (proc->extra && !proc->extra_is_callers)
        free(proc->start);
    proc->extra = false;
    proc->extra_is_callers = false;
}

/* checksum.c: the 64-bit XXH3 of bytes. */
uint64_t proc_hash(const void *bytes, size_t size, uint64_t seed);

/* Bytes between the position and the end of the buffer. */
static inline size_t
proc_left(const struct hg_proc *proc)
{
    return (size_t) (proc->end - proc->pos);
}

/* Bytes of the message so far. */
static inline size_t
proc_used(const struct hg_proc *proc)
{
    return (size_t) (proc->pos - proc->start);
}

/* Makes sure that `size` bytes can be encoded or decoded. Not for HG_FREE. */
static inline hg_return_t
proc_need(struct hg_proc *proc, hg_size_t size)
{
    if (__builtin_expect(size > proc_left(proc), 0))
        return proc_grow(proc, size);
    return HG_SUCCESS;
}

/* Copies an integer with its bytes in reverse. */
static inline void
proc_copy_swapped(char *dst, const char *src, size_t size)
{
    for (size_t i = 0; i < size; i++)
        dst[i] = src[size - 1 - i];
}

/* Copies an integer between a variable and a message, in either direction. */
static inline void
proc_copy_integer(char *dst, const char *src, size_t size)
{
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
        memcpy(dst, src, size);
    else
        proc_copy_swapped(dst, src, size);
}

#endif /* PROC_PROC_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization: a proc is positioned in one message. Each call encodes one
 * item into the message, decodes it, or frees what decoding allocated. */
#ifndef MERCURY_PROC_H
#define MERCURY_PROC_H

/* Programs rely on this header for these two. */
#include <stdlib.h>
#include <string.h>

#include "mercury_proc_bulk.h"
#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One thread at a time uses a proc. Nothing here blocks. With a null proc,
 * functions that return a code return HG_INVALID_ARG, other functions 0 or
 * NULL; those that run for each field, and hg_proc_get_op, need a valid proc.
 *
 * The message starts in the buffer given to hg_proc_reset. When encoding
 * exceeds that buffer, all bytes encoded so far are copied to an extra buffer,
 * which grows as needed. Decoding never reads past the end of the buffer.
 * HG_FREE uses no buffer: its sizes are 0. */

/* Makes a proc that has no message yet: until the first hg_proc_reset it
 * decodes an empty one.
 *
 * hg_class: handed back by hg_proc_get_class and not used otherwise; not NULL.
 * hash: what hg_proc_checksum_get gives. The names are Mercury's and say how
 *       many bytes: HG_CRC16 2, HG_CRC32 4, HG_CRC64 8, HG_NOHASH none. The
 *       algorithm is always XXH3.
 * proc_p: set on success; to be freed with hg_proc_free.
 *
 * Returns HG_SUCCESS, HG_INVALID_ARG, HG_NOMEM. */
HG_PUBLIC hg_return_t hg_proc_create(
    hg_class_t *hg_class, hg_proc_hash_t hash, hg_proc_t *proc_p);

/* hg_proc_create and hg_proc_reset in one. */
HG_PUBLIC hg_return_t hg_proc_create_set(hg_class_t *hg_class, void *buf,
    hg_size_t buf_size, hg_proc_op_t op, hg_proc_hash_t hash,
    hg_proc_t *proc_p);

/* Frees a proc, and its extra buffer unless that is the caller's (see
 * hg_proc_set_extra_buf_is_mine). The message's own buffer is left alone.
 *
 * proc: NULL is allowed.
 *
 * Returns HG_SUCCESS. */
HG_PUBLIC hg_return_t hg_proc_free(hg_proc_t proc);

/* Turns a proc to the beginning of another message, without allocating. Keeps
 * class, handle and hash; clears the flags; frees the extra buffer unless that
 * is the caller's.
 *
 * buf: the message's buffer, which stays the caller's and has to stay valid
 *      while the proc is used on it. NULL with a size of 0, and with HG_FREE.
 * buf_size: its size in bytes; for HG_DECODE the length of the message.
 *
 * Returns HG_SUCCESS; HG_INVALID_ARG, which leaves the proc as it was. */
HG_PUBLIC hg_return_t hg_proc_reset(
    hg_proc_t proc, void *buf, hg_size_t buf_size, hg_proc_op_t op);

/* Returns the class that the proc was created with. */
HG_PUBLIC hg_class_t *hg_proc_get_class(hg_proc_t proc);

/* Sets the RPC that the message belongs to.
 *
 * handle: returned by hg_proc_get_handle and not used otherwise. */
HG_PUBLIC void hg_proc_set_handle(hg_proc_t proc, hg_handle_t handle);

/* Returns the handle of the RPC that the message belongs to, or HG_HANDLE_NULL.
 * The caller gets no reference. */
HG_PUBLIC hg_handle_t hg_proc_get_handle(hg_proc_t proc);

/* Returns the operation: HG_ENCODE, HG_DECODE or HG_FREE. */
HG_PUBLIC hg_proc_op_t hg_proc_get_op(hg_proc_t proc);

/* Sets bits for the library's own use. hg_proc_reset clears them. */
HG_PUBLIC void hg_proc_set_flags(hg_proc_t proc, uint8_t flags);

/* Returns the bits set by hg_proc_set_flags. */
HG_PUBLIC uint8_t hg_proc_get_flags(hg_proc_t proc);

/* Returns the size in bytes of the current buffer: the one given to
 * hg_proc_reset, or the extra buffer. */
HG_PUBLIC hg_size_t hg_proc_get_size(hg_proc_t proc);

/* Returns the bytes of the message encoded or decoded so far. */
HG_PUBLIC hg_size_t hg_proc_get_size_used(hg_proc_t proc);

/* Sees to it that the message's buffer has at least a given size, by moving to
 * an extra buffer if need be.
 *
 * buf_size: in bytes, counted from the beginning of the message. A size that
 *           is there already changes nothing.
 *
 * Returns HG_SUCCESS; HG_OVERFLOW: no buffer can have that size, or the
 * message isn't being encoded and has the length that it has; HG_NOMEM;
 * HG_INVALID_ARG. */
HG_PUBLIC hg_return_t hg_proc_set_size(hg_proc_t proc, hg_size_t buf_size);

/* Returns the bytes between the current position and the end of the buffer.
 * Encoding more than that is allowed. */
HG_PUBLIC hg_size_t hg_proc_get_size_left(hg_proc_t proc);

/* Reserves the next bytes of the message, to be written (HG_ENCODE) or read
 * (HG_DECODE) in place, and advances past them. Call hg_proc_restore_ptr
 * afterwards, with no other call on this proc in between.
 *
 * data_size: in bytes; 0 returns the current position without advancing.
 *
 * Returns a pointer into the buffer, at any alignment. When decoding it is
 * valid as long as the buffer, when encoding until the next call on this proc.
 * NULL: with HG_FREE; when decoding and fewer bytes are left; when an extra
 * buffer is needed and cannot be allocated. */
HG_PUBLIC void *hg_proc_save_ptr(hg_proc_t proc, hg_size_t data_size);

/* Completes hg_proc_save_ptr, after the bytes have been written or read.
 *
 * data, data_size: the pointer that it returned, and the size given to it.
 *
 * Returns HG_SUCCESS; HG_INVALID_ARG: these aren't bytes that were reserved, or
 * the buffer was reallocated since. */
HG_PUBLIC hg_return_t hg_proc_restore_ptr(
    hg_proc_t proc, void *data, hg_size_t data_size);

/* Returns the extra buffer, or NULL when everything is in the buffer that
 * hg_proc_reset was given. It holds the message from its first byte on. */
HG_PUBLIC void *hg_proc_get_extra_buf(hg_proc_t proc);

/* Returns the size in bytes of the extra buffer, or 0. The message fills the
 * first hg_proc_get_size_used of them; the others hold nothing in particular
 * and should not be sent. */
HG_PUBLIC hg_size_t hg_proc_get_extra_size(hg_proc_t proc);

/* Sets the owner of the extra buffer.
 *
 * mine: not 0: the caller, which frees it with free(). The proc uses it until
 * the next hg_proc_reset or hg_proc_free, or until it needs a larger one, which
 * the proc owns again. 0: the proc.
 *
 * Returns HG_SUCCESS; HG_INVALID_ARG: there is no extra buffer. */
HG_PUBLIC hg_return_t hg_proc_set_extra_buf_is_mine(
    hg_proc_t proc, uint8_t mine);

/* Ends a message: everything encoded is in the buffer, and the checksum covers
 * it. Programs call it before hg_proc_checksum_get and _verify.
 *
 * Returns HG_SUCCESS, HG_INVALID_ARG. */
HG_PUBLIC hg_return_t hg_proc_flush(hg_proc_t proc);

/* Gets the checksum of all bytes encoded or decoded since hg_proc_reset, as
 * they are in the buffer at this moment.
 *
 * hash: set to 2, 4 or 8 bytes according to the proc's hash (see
 * hg_proc_create), the same on every machine, to be sent as they are.
 * hash_size: size of the buffer in bytes; bytes that the hash doesn't need are
 * not written.
 *
 * Returns HG_SUCCESS; HG_OPNOTSUPPORTED: the proc has no hash; HG_OVERFLOW:
 * hash_size is too small; HG_INVALID_ARG. */
HG_PUBLIC hg_return_t hg_proc_checksum_get(
    hg_proc_t proc, void *hash, hg_size_t hash_size);

/* Compares the checksum with one got by hg_proc_checksum_get.
 *
 * hash, hash_size: as there.
 *
 * Returns HG_SUCCESS; HG_CHECKSUM_ERROR: they differ; otherwise as
 * hg_proc_checksum_get. */
HG_PUBLIC hg_return_t hg_proc_checksum_verify(
    hg_proc_t proc, const void *hash, hg_size_t hash_size);

/* Includes data that isn't in the message in the checksum. Both sides must call
 * it for the same data in the same order. The bytes of the message are included
 * already; passing them has no effect.
 *
 * data: data_size bytes, only read. */
HG_PUBLIC void hg_proc_checksum_update(
    hg_proc_t proc, void *data, hg_size_t data_size);

/* Encodes or decodes an integer; HG_FREE does nothing. In the message it has
 * the size of its type, little-endian, at any alignment.
 *
 * data: points to a variable of the type, at any alignment; set on success
 * only.
 *
 * Returns HG_SUCCESS; HG_OVERFLOW: the message has fewer bytes left; HG_NOMEM:
 * an extra buffer is needed and cannot be allocated. An error leaves the
 * position as it was. */
HG_PUBLIC hg_return_t hg_proc_int8_t(hg_proc_t proc, void *data);
HG_PUBLIC hg_return_t hg_proc_uint8_t(hg_proc_t proc, void *data);
HG_PUBLIC hg_return_t hg_proc_int16_t(hg_proc_t proc, void *data);
HG_PUBLIC hg_return_t hg_proc_uint16_t(hg_proc_t proc, void *data);
HG_PUBLIC hg_return_t hg_proc_int32_t(hg_proc_t proc, void *data);
HG_PUBLIC hg_return_t hg_proc_uint32_t(hg_proc_t proc, void *data);
HG_PUBLIC hg_return_t hg_proc_int64_t(hg_proc_t proc, void *data);
HG_PUBLIC hg_return_t hg_proc_uint64_t(hg_proc_t proc, void *data);

/* Encodes or decodes bytes as they are; HG_FREE does nothing.
 *
 * data: data_size bytes; written on success only. May be NULL for 0 bytes.
 * data_size: not part of the message; both sides have to know it.
 *
 * Returns: as hg_proc_uint64_t, and HG_OVERFLOW when encoding more than a
 * buffer can have. */
HG_PUBLIC hg_return_t hg_proc_bytes(
    hg_proc_t proc, void *data, hg_size_t data_size);

/* Encodes or decodes the id of an RPC, in 4 bytes; HG_FREE does nothing.
 *
 * data: an hg_id_t *; set on success only.
 *
 * Returns: as hg_proc_uint32_t; HG_INVALID_ARG when encoding an id of more than
 * 32 bits. */
static HG_INLINE hg_return_t
hg_proc_hg_id_t(hg_proc_t proc, void *data)
{
    hg_id_t *id = (hg_id_t *) data;
    hg_proc_op_t op = hg_proc_get_op(proc);
    uint32_t wire = 0;
    hg_return_t ret;

    if (op == HG_ENCODE) {
        wire = (uint32_t) *id;
        if (wire != *id)
            return HG_INVALID_ARG;
    }
    ret = hg_proc_uint32_t(proc, &wire);
    if (ret == HG_SUCCESS && op == HG_DECODE)
        *id = wire;
    return ret;
}

/* Other names. */
#define hg_proc_raw hg_proc_bytes
#define hg_proc_memcpy hg_proc_bytes
#define hg_proc_hg_int8_t hg_proc_int8_t
#define hg_proc_hg_uint8_t hg_proc_uint8_t
#define hg_proc_hg_int16_t hg_proc_int16_t
#define hg_proc_hg_uint16_t hg_proc_uint16_t
#define hg_proc_hg_int32_t hg_proc_int32_t
#define hg_proc_hg_uint32_t hg_proc_uint32_t
#define hg_proc_hg_int64_t hg_proc_int64_t
#define hg_proc_hg_uint64_t hg_proc_uint64_t
#define hg_proc_hg_bool_t hg_proc_uint8_t
#define hg_proc_hg_size_t hg_proc_uint64_t
#define hg_proc_hg_ptr_t hg_proc_uint64_t

/* For an RPC without input or output. */
#define hg_proc_void ((hg_proc_cb_t) 0)

/* Implementation, not for use.
 *
 * hg_proc_get_op, the integers and hg_proc_bytes of a known size are compiled into
 * programs, for the case that the buffer has room. The library does all else; it does
 * everything if the program calls through a function's address, is compiled without
 * optimization, or defines TALARIA_NO_INLINE before it includes this header, as a
 * program must that defines one of these functions itself. */

/* How a proc begins. Compiled into programs: it stays as it is as long as the number
 * in the library's file name, libtalaria.so.N. */
struct talaria_proc_window {
    char *next; /* next byte of the message; NULL with HG_FREE */
    char *end;  /* past the last byte of the buffer; NULL with HG_FREE */
    hg_proc_op_t op;
};

/* In the message an integer is little-endian. */
#if !defined(TALARIA_NO_INLINE) && defined(__OPTIMIZE__) &&                    \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

/* Such a definition is used for inlining only. */
#define TALARIA_PROC_INLINE                                                    \
    extern __inline__ __attribute__((__gnu_inline__, __always_inline__))

/* Copying more takes so long that a call does not matter. */
#define TALARIA_PROC_SHORT 128U

/* hg_proc_bytes of the library. */
extern hg_return_t talaria_proc_bytes(
    hg_proc_t proc, void *data, hg_size_t data_size) __asm__("hg_proc_bytes");

TALARIA_PROC_INLINE hg_proc_op_t
hg_proc_get_op(hg_proc_t proc)
{
    return ((const struct talaria_proc_window *) proc)->op;
}

TALARIA_PROC_INLINE hg_return_t
hg_proc_bytes(hg_proc_t proc, void *data, hg_size_t data_size)
{
    struct talaria_proc_window *window = (struct talaria_proc_window *) proc;
    char *next;

    if (!__builtin_constant_p(data_size) || data_size == 0 ||
        data_size > TALARIA_PROC_SHORT)
        return talaria_proc_bytes(proc, data, data_size);
    next = window->next;
    if (__builtin_expect((hg_size_t) (window->end - next) < data_size, 0))
        return window->op == HG_FREE
                   ? HG_SUCCESS
                   : talaria_proc_bytes(proc, data, data_size);
    window->next = next + data_size;
    /* Hides the variable: the compiler would warn of one that is set by decoding
     * only, since encoding reads it. */
    __asm__("" : "+r"(data));
    if (window->op == HG_ENCODE)
        __builtin_memcpy(next, data, data_size);
    else
        __builtin_memcpy(data, next, data_size);
    return HG_SUCCESS;
}

#define TALARIA_PROC_INTEGER(name, type)                                       \
    TALARIA_PROC_INLINE hg_return_t name(hg_proc_t proc, void *data)           \
    {                                                                          \
        return hg_proc_bytes(proc, data, sizeof(type));                        \
    }

TALARIA_PROC_INTEGER(hg_proc_int8_t, int8_t)
TALARIA_PROC_INTEGER(hg_proc_uint8_t, uint8_t)
TALARIA_PROC_INTEGER(hg_proc_int16_t, int16_t)
TALARIA_PROC_INTEGER(hg_proc_uint16_t, uint16_t)
TALARIA_PROC_INTEGER(hg_proc_int32_t, int32_t)
TALARIA_PROC_INTEGER(hg_proc_uint32_t, uint32_t)
TALARIA_PROC_INTEGER(hg_proc_int64_t, int64_t)
TALARIA_PROC_INTEGER(hg_proc_uint64_t, uint64_t)

#endif

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_PROC_H */

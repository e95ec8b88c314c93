/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings in the input and output of RPCs. */
#ifndef MERCURY_PROC_STRING_H
#define MERCURY_PROC_STRING_H

#include "mercury_proc.h"
#include "mercury_string_object.h"

typedef const char *hg_const_string_t;
typedef char *hg_string_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Encodes, decodes or frees a zero-terminated string. In the message it takes 8
 * bytes, its bytes with the zero, and 2 more; NULL takes 8 bytes.
 *
 * proc: the argument of the proc callback.
 * data: an hg_string_t * or hg_const_string_t *; a NULL string arrives as
 *       NULL. A decoded string is from malloc; the caller owns it until the
 *       HG_FREE pass, which frees it and sets it to NULL. Set on success only.
 *
 * Returns HG_SUCCESS; HG_OVERFLOW: the message ends before the string does;
 * HG_PROTOCOL_ERROR: the string isn't terminated by its only zero; HG_NOMEM.
 * One thread at a time may use a proc. Doesn't block. */
HG_PUBLIC hg_return_t hg_proc_hg_string_t(hg_proc_t proc, void *data);

/* hg_proc_hg_string_t under the name that generated procs use for
 * hg_const_string_t fields. */
HG_PUBLIC hg_return_t hg_proc_hg_const_string_t(hg_proc_t proc, void *data);

/* Encodes, decodes or frees a string object; the message is the same as
 * with hg_proc_hg_string_t.
 *
 * proc: the argument of the proc callback.
 * string: an hg_string_object_t *. A decoded one owns its string, which is
 *         writable; HG_FREE does what hg_string_object_free does.
 *
 * Returns and threads: as hg_proc_hg_string_t. */
HG_PUBLIC hg_return_t hg_proc_hg_string_object_t(hg_proc_t proc, void *string);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_PROC_STRING_H */

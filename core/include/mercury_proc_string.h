/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries strings in the arguments of an RPC. */
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
 * bytes, its own with the zero, and 2; a NULL one the 8 alone.
 *
 * proc: what the proc callback was given.
 * data: an hg_string_t * or hg_const_string_t *; a NULL string arrives as
 *       NULL. A decoded string is a copy from malloc, and the caller's until
 *       the HG_FREE pass, which frees it and sets it to NULL. Set on success
 *       only.
 *
 * Returns HG_SUCCESS; HG_OVERFLOW: the message ends before the string does;
 * HG_PROTOCOL_ERROR: what arrived has a zero elsewhere than at its end, or none
 * there; HG_NOMEM. One thread at a time a proc; doesn't block. */
HG_PUBLIC hg_return_t hg_proc_hg_string_t(hg_proc_t proc, void *data);

/* The same, for a string that may only be read: the name that generated procs
 * of hg_const_string_t fields call. */
HG_PUBLIC hg_return_t hg_proc_hg_const_string_t(hg_proc_t proc, void *data);

/* Encodes, decodes or frees a string object; the message is that of
 * hg_proc_hg_string_t.
 *
 * proc: what the proc callback was given.
 * string: an hg_string_object_t *. A decoded one owns its string, which may be
 *         written to; HG_FREE does what hg_string_object_free does.
 *
 * Returns and threads: as hg_proc_hg_string_t. */
HG_PUBLIC hg_return_t hg_proc_hg_string_object_t(hg_proc_t proc, void *string);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_PROC_STRING_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* A string that knows whether it is to be freed. */
#ifndef MERCURY_STRING_OBJECT_H
#define MERCURY_STRING_OBJECT_H

#include "mercury_types.h"

/* Different objects may be used by different threads; nothing here blocks. */
typedef struct hg_string_object {
    char *data;    /* zero-terminated, or NULL */
    bool is_const; /* not to be written to */
    bool is_owned; /* from malloc, and freed with the object */
} hg_string_object_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Makes an object without a string.
 *
 * string: written; what it held before isn't looked at.
 *
 * Returns HG_SUCCESS; HG_INVALID_ARG: string is NULL. */
HG_PUBLIC hg_return_t hg_string_object_init(hg_string_object_t *string);

/* Makes an object of a string that may be written to.
 *
 * string: written; what it held before isn't looked at.
 * s: zero-terminated, or NULL; not copied, and has to outlive the object.
 * is_owned: not 0: s came from malloc and is the object's from now on.
 *
 * Returns HG_SUCCESS; HG_INVALID_ARG: string is NULL. */
HG_PUBLIC hg_return_t hg_string_object_init_char(
    hg_string_object_t *string, char *s, uint8_t is_owned);

/* Makes an object of a string that may only be read; otherwise as
 * hg_string_object_init_char. */
HG_PUBLIC hg_return_t hg_string_object_init_const_char(
    hg_string_object_t *string, const char *s, uint8_t is_owned);

/* Frees the string, if it is owned, and leaves an object without one.
 *
 * string: NULL is allowed.
 *
 * Returns HG_SUCCESS. */
HG_PUBLIC hg_return_t hg_string_object_free(hg_string_object_t *string);

/* Makes an object that owns a writable copy of another one's string.
 *
 * string: not changed; without a string the new object has none either.
 * new_string: written on success; to be freed with hg_string_object_free.
 *
 * Returns HG_SUCCESS; HG_INVALID_ARG: new_string is NULL; HG_NOMEM. */
HG_PUBLIC hg_return_t hg_string_object_dup(
    hg_string_object_t string, hg_string_object_t *new_string);

/* Puts another string in the place of the one in an object.
 *
 * string: keeps is_const and is_owned, which from now on are said of s.
 * s: zero-terminated, or NULL; from malloc if the object owns its string.
 *
 * Returns the string that was there, or NULL (also when string is NULL). It is
 * the caller's to free if the object owned it. */
HG_PUBLIC char *hg_string_object_swap(hg_string_object_t *string, char *s);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_STRING_OBJECT_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* A string with its ownership. */
#ifndef MERCURY_STRING_OBJECT_H
#define MERCURY_STRING_OBJECT_H

#include "mercury_types.h"

/* Different objects may be used by different threads; nothing here blocks. */
typedef struct hg_string_object {
    char *data;    /* zero-terminated, or NULL */
    bool is_const; /* read-only */
    bool is_owned; /* from malloc, freed with the object */
} hg_string_object_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Initializes an object without a string.
 *
 * string: overwritten.
 *
 * Returns HG_SUCCESS; HG_INVALID_ARG: string is NULL. */
HG_PUBLIC hg_return_t hg_string_object_init(hg_string_object_t *string);

/* Initializes an object with a writable string.
 *
 * string: overwritten.
 * s: zero-terminated, or NULL; not copied, and must outlive the object.
 * is_owned: not 0: s is from malloc, and the object owns it from now on.
 *
 * Returns HG_SUCCESS; HG_INVALID_ARG: string is NULL. */
HG_PUBLIC hg_return_t hg_string_object_init_char(
    hg_string_object_t *string, char *s, uint8_t is_owned);

/* Initializes an object with a read-only string; otherwise like
 * hg_string_object_init_char. */
HG_PUBLIC hg_return_t hg_string_object_init_const_char(
    hg_string_object_t *string, const char *s, uint8_t is_owned);

/* Frees the string if the object owns it. The object then has no string.
 *
 * string: NULL is allowed.
 *
 * Returns HG_SUCCESS. */
HG_PUBLIC hg_return_t hg_string_object_free(hg_string_object_t *string);

/* Initializes an object that owns a writable copy of another one's string.
 *
 * string: unchanged; without a string the new object has none.
 * new_string: set on success; to be freed with hg_string_object_free.
 *
 * Returns HG_SUCCESS; HG_INVALID_ARG: new_string is NULL; HG_NOMEM. */
HG_PUBLIC hg_return_t hg_string_object_dup(
    hg_string_object_t string, hg_string_object_t *new_string);

/* Replaces the string of an object.
 *
 * string: keeps is_const and is_owned, which then apply to s.
 * s: zero-terminated, or NULL; from malloc if the object owns its string.
 *
 * Returns the old string, or NULL (also if string is NULL). The caller frees it
 * if the object owned it. An object that owns nothing, as a new one, never frees
 * s. */
HG_PUBLIC char *hg_string_object_swap(hg_string_object_t *string, char *s);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_STRING_OBJECT_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash tables of pointers by pointers. A table grows with its entries. It has no
 * lock: one thread changes it, or several look into it. */
#ifndef MERCURY_HASH_TABLE_H
#define MERCURY_HASH_TABLE_H

#include "mercury_util_config.h"

typedef struct hg_hash_table hg_hash_table_t;
typedef struct hg_hash_table_entry hg_hash_table_entry_t;
typedef void *hg_hash_table_key_t;
typedef void *hg_hash_table_value_t;

#define HG_HASH_TABLE_NULL ((void *) 0)

/* Where an iteration is. */
typedef struct hg_hash_table_iter {
    hg_hash_table_t *hash_table;
    hg_hash_table_entry_t *next_entry;
    unsigned int next_chain;
} hg_hash_table_iter_t;

/* The hash of a key: the same for keys that are equal. */
typedef unsigned int (*hg_hash_table_hash_func_t)(hg_hash_table_key_t value);

/* Whether two keys are equal: non-zero if so. */
typedef int (*hg_hash_table_equal_func_t)(
    hg_hash_table_key_t value1, hg_hash_table_key_t value2);

/* Free a key or a value that leaves the table. */
typedef void (*hg_hash_table_key_free_func_t)(hg_hash_table_key_t value);
typedef void (*hg_hash_table_value_free_func_t)(hg_hash_table_value_t value);

#ifdef __cplusplus
extern "C" {
#endif

/* Makes an empty table, which hg_hash_table_free frees; NULL: out of memory, or
 * a function is missing. */
HG_UTIL_PUBLIC hg_hash_table_t *hg_hash_table_new(
    hg_hash_table_hash_func_t hash_func, hg_hash_table_equal_func_t equal_func);

/* Frees a table with its keys and values. NULL does nothing. */
HG_UTIL_PUBLIC void hg_hash_table_free(hg_hash_table_t *hash_table);

/* Says what frees keys and values from now on; NULL: they stay the caller's. */
HG_UTIL_PUBLIC void hg_hash_table_register_free_functions(
    hg_hash_table_t *hash_table, hg_hash_table_key_free_func_t key_free_func,
    hg_hash_table_value_free_func_t value_free_func);

/* Enters value by key. Of an entry that has an equal key, both key and value
 * leave the table. Returns 1, or 0: out of memory, nothing was changed. */
HG_UTIL_PUBLIC int hg_hash_table_insert(hg_hash_table_t *hash_table,
    hg_hash_table_key_t key, hg_hash_table_value_t value);

/* The value entered by key, or HG_HASH_TABLE_NULL. */
HG_UTIL_PUBLIC hg_hash_table_value_t hg_hash_table_lookup(
    hg_hash_table_t *hash_table, hg_hash_table_key_t key);

/* Removes the entry of key. Returns 1, or 0: there is none. */
HG_UTIL_PUBLIC int hg_hash_table_remove(
    hg_hash_table_t *hash_table, hg_hash_table_key_t key);

HG_UTIL_PUBLIC unsigned int hg_hash_table_num_entries(
    hg_hash_table_t *hash_table);

/* Starts an iteration over the values, in no special order. While it goes on,
 * nothing is entered; the entry that was last returned may be removed. */
HG_UTIL_PUBLIC void hg_hash_table_iterate(
    hg_hash_table_t *hash_table, hg_hash_table_iter_t *iter);

/* Non-zero as long as there is another value. */
HG_UTIL_PUBLIC int hg_hash_table_iter_has_more(hg_hash_table_iter_t *iterator);

/* The next value, or HG_HASH_TABLE_NULL after the last. */
HG_UTIL_PUBLIC hg_hash_table_value_t hg_hash_table_iter_next(
    hg_hash_table_iter_t *iterator);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_HASH_TABLE_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases of the plugin search, through talaria_plugin_list. */
#ifndef SEARCH_CASE_H
#define SEARCH_CASE_H

#include "talaria.h"

/* The list made last. */
extern struct talaria_plugin_list *search_listed;

/* Replaces the list by a new one. Returns the number of entries from the test's
 * own places. */
size_t search_list_make(void);
void search_list_free(void);

/* Check an entry of the list. name, manifest NULL: it has none. reason: a part
 * of the entry's text. */
void search_ck_entry(size_t index, enum talaria_source source, const char *name,
    const char *manifest);
void search_ck_refused(size_t index, enum talaria_stage stage, na_return_t code,
    const char *reason);
void search_ck_usable(size_t index);

/* Sets an environment variable to two paths. */
void search_set_path(
    const char *variable, const char *first, const char *second);

#endif /* SEARCH_CASE_H */

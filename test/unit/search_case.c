/* SPDX-License-Identifier: BSD-3-Clause */
#include "search_case.h"

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct talaria_plugin_list *search_listed;

size_t
search_list_make(void)
{
    size_t count = 0;

    talaria_plugin_list_free(search_listed);
    ck_assert_int_eq(talaria_plugin_list(&search_listed), NA_SUCCESS);
    while (count < search_listed->count &&
           search_listed->entries[count]->source <= TALARIA_SOURCE_ENV_PATH)
        count++;
    return count;
}

void
search_list_free(void)
{
    talaria_plugin_list_free(search_listed);
    search_listed = NULL;
}

void
search_ck_entry(size_t index, enum talaria_source source, const char *name,
    const char *manifest)
{
    const struct talaria_plugin_entry *entry = search_listed->entries[index];

    ck_assert_str_eq(talaria_source_to_string(entry->source),
        talaria_source_to_string(source));
    if (name)
        ck_assert_str_eq(entry->name, name);
    else
        ck_assert_ptr_null(entry->name);
    if (manifest)
        ck_assert_str_eq(entry->manifest_path, manifest);
    else
        ck_assert_ptr_null(entry->manifest_path);
}

void
search_ck_refused(size_t index, enum talaria_stage stage, na_return_t code,
    const char *reason)
{
    const struct talaria_plugin_entry *entry = search_listed->entries[index];

    ck_assert_str_eq(
        talaria_stage_to_string(entry->stage), talaria_stage_to_string(stage));
    ck_assert_int_eq(entry->code, code);
    ck_assert_msg(strstr(entry->text, reason), "\"%s\" lacks \"%s\"",
        entry->text, reason);
}

void
search_ck_usable(size_t index)
{
    const struct talaria_plugin_entry *entry = search_listed->entries[index];

    ck_assert_msg(entry->stage == TALARIA_STAGE_OK, "%s", entry->text);
    ck_assert_str_eq(entry->text, "");
    ck_assert_int_eq(entry->code, NA_SUCCESS);
}

void
search_set_path(const char *variable, const char *first, const char *second)
{
    char value[2 * PATH_MAX + 2];

    snprintf(value, sizeof value, "%s:%s", first, second);
    setenv(variable, value, 1);
}

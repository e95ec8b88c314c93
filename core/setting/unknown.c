/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment variables that look like settings and are not known. */
#include "setting/values.h"

#include "base/env.h"
#include "base/log.h"
#include "setting/nearest.h"

#include <stdatomic.h>
#include <string.h>

/* Hashes of logged names. When the table is full, no more are logged. */
static _Atomic uint64_t told[64];

static bool
tell_once(const char *name)
{
    uint64_t number = UINT64_C(0xcbf29ce484222325);

    for (; *name; name++)
        number = (number ^ (unsigned char) *name) * UINT64_C(0x100000001b3);
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        uint64_t there = 0;

        if (atomic_compare_exchange_strong(&told[i], &there, number | 1))
            return true;
        if (there == (number | 1))
            return false;
    }
    return false;
}

/* Returns whether a variable has the prefix of a setting in the list, but
 * matches none. word: its name after TALARIA_. */
static bool
is_unknown(const na_plugin_setting *const *list, const char *word)
{
    bool ours = false;
    size_t length = strlen(word);

    for (; *list; list++) {
        const char *key = (*list)->key;
        size_t prefix = (size_t) (strchr(key, '.') + 1 - key);

        if (setting_distance(word, length, key, strlen(key)) == 0)
            return false;
        if (length >= prefix &&
            setting_distance(word, prefix, key, prefix) == 0)
            ours = true;
    }
    return ours;
}

void
setting_warn_unknown(const na_plugin_setting *const *list)
{
    char name[BASE_ENV_NAME_SIZE], nearest[BASE_ENV_NAME_SIZE];
    const size_t front = strlen("TALARIA_");

    for (size_t at = 0; list && base_env_next(&at, name);)
        if (is_unknown(list, name + front) && base_env_get(name) &&
            tell_once(name) &&
            base_env_variable(
                setting_nearest(name + front, strlen(name + front), &list, 1),
                nearest))
            LOG_WARNING(
                PLUGIN, "%s is no setting, the nearest is %s", name, nearest);
}

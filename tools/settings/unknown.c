/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables of the environment that look like Talaria's and are not. */
#include "settings/near.h"
#include "settings/settings.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char prefix[] = "TALARIA_";

/* Prefixes of Mercury's variables, which Talaria does not read. */
static const char *const mercurys[] = {
    "NA_PLUGIN_PATH", "NA_OFI_", "NA_SM_", "NA_UCX_"};

static bool
is_mercurys(const char *name)
{
    for (size_t i = 0; i < sizeof mercurys / sizeof mercurys[0]; i++)
        if (strncmp(name, mercurys[i], strlen(mercurys[i])) == 0)
            return true;
    return false;
}

/* Whether the first word of a name is "TALARIA", or nearly. */
static bool
looks_like_ours(const char *name)
{
    size_t length = strcspn(name, "_");
    struct near near;
    char first[sizeof prefix + 2];

    if (strncmp(name, prefix, sizeof prefix - 1) == 0 ||
        strncmp(name, "HG_LOG", strlen("HG_LOG")) == 0)
        return true;
    if (length >= sizeof first || length < 5 || name[length] != '_')
        return false;
    memcpy(first, name, length);
    first[length] = '\0';
    near_init(&near, first);
    near_try(&near, "TALARIA");
    return near.distance <= 2;
}

static bool
is_known(const struct settings_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->rows[i].variable, name) == 0)
            return true;
    return false;
}

static const char *
nearest(const struct settings_list *list, const char *name)
{
    char word[sizeof prefix + SETTINGS_VARIABLE_SIZE];
    struct near near;

    if (is_mercurys(name))
        snprintf(word, sizeof word, "%s%s", prefix, name + strlen("NA_"));
    else
        snprintf(word, sizeof word, "%s", name);
    near_init(&near, word);
    for (size_t i = 0; i < list->count; i++)
        if (list->rows[i].variable[0])
            near_try(&near, list->rows[i].variable);
    return near_result(&near);
}

bool
settings_next_unknown(const struct settings_list *list, size_t *at_p,
    char name[SETTINGS_VARIABLE_SIZE], const char **nearest_p)
{
    while (environ && environ[*at_p]) {
        const char *text = environ[(*at_p)++];
        size_t length = strcspn(text, "=");

        if (length >= SETTINGS_VARIABLE_SIZE)
            length = SETTINGS_VARIABLE_SIZE - 1;
        memcpy(name, text, length);
        name[length] = '\0';
        if ((!looks_like_ours(name) && !is_mercurys(name)) ||
            is_known(list, name))
            continue;
        *nearest_p = nearest(list, name);
        return true;
    }
    return false;
}

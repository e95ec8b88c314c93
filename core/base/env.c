/* SPDX-License-Identifier: BSD-3-Clause */
/* The one place that reads the environment. */
#include "base/env.h"

#include "base/log.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const char *
base_env_get(const char *name)
{
    bool harmless = strncmp(name, "HG_LOG_", 7) == 0;
    const char *value = harmless ? getenv(name) : secure_getenv(name);

    if (!value && !harmless && getenv(name))
        LOG_WARNING(PLUGIN, "%s is ignored in a privileged process", name);
    return value && *value ? value : NULL;
}

/* The character of a variable's name for one of a key, 0 if there is none. Not
 * by <ctype.h>: in a Turkish locale the capital of 'i' is not 'I'. */
static char
variable_char(char c)
{
    if (c >= 'a' && c <= 'z')
        return (char) (c - 'a' + 'A');
    if ((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
        return c;
    return c == '.' || c == '-' || c == '_' ? '_' : '\0';
}

const char *
base_env_plugin_setting(const char *key)
{
    static const char prefix[] = "TALARIA_";
    char name[128];
    size_t length = sizeof prefix - 1;

    memcpy(name, prefix, length);
    for (; *key; key++) {
        char c = variable_char(*key);

        if (c == '\0' || length + 1 == sizeof name)
            return NULL;
        name[length++] = c;
    }
    name[length] = '\0';
    return base_env_get(name);
}

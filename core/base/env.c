/* SPDX-License-Identifier: BSD-3-Clause */
/* The only code that reads the environment. */
#include "base/env.h"

#include "base/log.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char prefix[] = "TALARIA_";

bool
base_env_is_ignored(const char *name)
{
    return getenv(name) && !secure_getenv(name) &&
           strncmp(name, "HG_LOG_", 7) != 0;
}

const char *
base_env_get(const char *name)
{
    const char *value = getenv(name);

    if (base_env_is_ignored(name)) {
        LOG_WARNING(PLUGIN, "%s" BASE_ENV_IGNORED, name);
        return NULL;
    }
    return value && *value ? value : NULL;
}

/* Returns the character of a variable's name for one of a key, 0 if there is
 * none. Without <ctype.h>: in a Turkish locale the capital of 'i' is not 'I'.
 */
static char
variable_char(char c)
{
    if (c >= 'a' && c <= 'z')
        return (char) (c - 'a' + 'A');
    if ((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
        return c;
    return c == '.' || c == '-' || c == '_' ? '_' : '\0';
}

bool
base_env_variable(const char *key, char name[BASE_ENV_NAME_SIZE])
{
    size_t length = sizeof prefix - 1;

    memcpy(name, prefix, length);
    for (; *key; key++) {
        char c = variable_char(*key);

        if (c == '\0' || length + 1 == BASE_ENV_NAME_SIZE)
            return false;
        name[length++] = c;
    }
    name[length] = '\0';
    return true;
}

const char *
base_env_plugin_setting(const char *key)
{
    char name[BASE_ENV_NAME_SIZE];

    return base_env_variable(key, name) ? base_env_get(name) : NULL;
}

bool
base_env_next(size_t *at_p, char name[BASE_ENV_NAME_SIZE])
{
    for (char **entry = environ; entry && entry[*at_p];) {
        const char *text = entry[(*at_p)++];
        size_t length = strcspn(text, "=");

        if (strncmp(text, prefix, sizeof prefix - 1) != 0 ||
            length >= BASE_ENV_NAME_SIZE)
            continue;
        memcpy(name, text, length);
        name[length] = '\0';
        return true;
    }
    return false;
}

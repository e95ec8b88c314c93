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
    return getenv(name) && !secure_getenv(name);
}

const char *
base_env_get(const char *name)
{
    const char *value = getenv(name);

    if (base_env_is_ignored(name) && strncmp(name, "HG_LOG_", 7) != 0) {
        LOG_WARNING(PLUGIN, "%s" BASE_ENV_IGNORED, name);
        return NULL;
    }
    return value && *value ? value : NULL;
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

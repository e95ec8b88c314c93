/* SPDX-License-Identifier: BSD-3-Clause */
/* The one place that reads the environment. */
#include "base/env.h"

#include "base/log.h"

#include <ctype.h>
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

const char *
base_env_plugin_setting(const char *key)
{
    static const char prefix[] = "TALARIA_";
    char name[128];
    size_t length = sizeof prefix - 1;

    memcpy(name, prefix, length);
    for (; *key; key++) {
        bool separator = *key == '.' || *key == '-' || *key == '_';

        if (length + 1 == sizeof name ||
            (!separator && !isalnum((unsigned char) *key)))
            return NULL;
        name[length++] =
            (char) (separator ? '_' : toupper((unsigned char) *key));
    }
    name[length] = '\0';
    return base_env_get(name);
}

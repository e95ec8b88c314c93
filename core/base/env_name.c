/* SPDX-License-Identifier: BSD-3-Clause */
/* The variable of a setting. Independent of the rest of the core. */
#include "base/env.h"

#include <string.h>

static const char prefix[] = "TALARIA_";

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

/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "environment.h"

const char *
ucx_environment(const char *name)
{
    char variable[64];
    const char *value;

    snprintf(variable, sizeof(variable), "UCX_%s", name);
    value = getenv(variable);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

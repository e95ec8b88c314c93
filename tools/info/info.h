/* SPDX-License-Identifier: BSD-3-Clause */
/* The two forms of talaria info. Both return the exit status. */
#ifndef INFO_H
#define INFO_H

#include <stdbool.h>

/* Lists the plugins by their manifests. */
int info_list(bool json);

/* Opens a plugin and shows its properties. */
int info_class(const char *info_string, bool json);

#endif /* INFO_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* The two halves of talaria info. Both return what a subcommand does. */
#ifndef INFO_H
#define INFO_H

#include <stdbool.h>

/* Every plugin that is found, from manifests. */
int info_list(bool json);

/* One plugin, opened. */
int info_class(const char *info_string, bool json);

#endif /* INFO_H */

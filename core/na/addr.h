/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: objects of the plugin under the interface's type. */
#ifndef NA_ADDR_H
#define NA_ADDR_H

#include "na_plugin.h"
#include "na_types.h"

static inline na_plugin_addr *
na_addr_plugin(na_addr_t *addr)
{
    return (na_plugin_addr *) addr;
}

static inline na_addr_t *
na_addr_public(na_plugin_addr *addr)
{
    return (na_addr_t *) addr;
}

/* Counts a reference that the user gets with a message and frees with
 * NA_Addr_free. */
void na_addr_given(struct na_class *na_class);

/* Returns whether an address string is for the class's plugin. */
bool na_addr_is_for(const struct na_class *na_class, const char *name);

/* NA_Addr_lookup, without counting the reference. */
na_return_t na_addr_lookup(
    struct na_class *na_class, const char *name, na_plugin_addr **addr_p);
/* Does what NA_Addr_to_string does. */
na_return_t na_addr_to_string(struct na_class *na_class,
    const na_plugin_addr *addr, char *buf, size_t *buf_size_p);

#endif /* NA_ADDR_H */

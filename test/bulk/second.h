/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds a second transport to a class, as auto_sm does. */
#ifndef SECOND_H
#define SECOND_H

#include "bulk/bulk.h"
#include "mercury.h"
#include "na.h"

struct second {
    struct bulk_class *bulk_class;
    na_context_t *na_context;
    na_plugin_addr *self;
};

/* Opens it. context may be NULL. Call it before any descriptor is created. */
void second_open(struct second *second, const char *info, hg_class_t *hg_class,
    hg_context_t *context);

/* Closes it, after the context is destroyed and before the class. */
void second_close(struct second *second);

/* Address of another second transport; release it with na_peer_release. */
struct hg_addr second_addr_of(
    const struct second *second, const struct second *other);

#endif /* SECOND_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* A second transport for a class, as auto_sm gives it one. */
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

/* Opens it by an info string. context: may be NULL. Before any descriptor. */
void second_open(struct second *second, const char *info, hg_class_t *hg_class,
    hg_context_t *context);

/* After the context's end, before the class's. */
void second_close(struct second *second);

/* The address of another one, to be released by na_peer_release. */
struct hg_addr second_addr_of(
    const struct second *second, const struct second *other);

#endif /* SECOND_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry: the registrations of a class, in memory that it shows to peers
 * of its own user, read-only. A peer that copies by itself compares its descriptor
 * with the registry, so that it never copies from or to memory that the owner has
 * not registered, or not any more, or with another right, wherever it has the
 * descriptor from. Peers of other users do not see it, since it contains ids; their
 * puts and gets are emulated, and the owner checks.
 */
#ifndef SM_REGISTRY_H
#define SM_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "na_plugin.h"

#define SM_REGISTRY_SIZE (4U << 20) /* bytes; touched pages alone take memory */
#define SM_REGISTRY_RUNS 10U /* sizes of a run of slots: 1, 2, 4 ... 512 */

struct sm_registry {
    int fd;                          /* -1: there is none */
    unsigned char *memory;           /* written, and never read, by the owner */
    uint32_t next;                   /* first slot that was never used */
    uint32_t free[SM_REGISTRY_RUNS]; /* first free run of each size, 0: none */
    uint32_t *links;                 /* of a free run: the next one */
};

/* Creates it. 0, or an errno as tp_memfd_create; the class then works without,
 * and puts and gets of its memory are emulated. */
int sm_registry_init(struct sm_registry *registry);
void sm_registry_fini(struct sm_registry *registry);

/* Enters a registration, whose id is set; mem->slot says where, 0: there is no
 * room for it. The caller serializes this and the next. */
void sm_registry_enter(struct sm_registry *registry, na_plugin_mem *mem);
void sm_registry_remove(struct sm_registry *registry, const na_plugin_mem *mem);

/* Maps a peer's registry. *registry_p; fd stays the caller's. NULL, or what is
 * wrong with it. */
const char *sm_registry_map(int fd, const unsigned char **registry_p);
void sm_registry_unmap(const unsigned char *registry);

/* Whether a peer has this very registration: key, segments, and no less access
 * than the descriptor says. */
bool sm_registry_has(const unsigned char *registry, const na_plugin_mem *mem);

#endif /* SM_REGISTRY_H */

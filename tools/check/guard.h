/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the kit between guard pages and protected by time: access past its
 * end, or when it is not permitted, faults at once.
 */
#ifndef KIT_GUARD_H
#define KIT_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which access is permitted at the moment. */
enum kit_lock {
    KIT_OPEN,     /* everything */
    KIT_READABLE, /* reading */
    KIT_CLOSED    /* nothing */
};

struct kit_guarded {
    unsigned char *memory; /* ends where a page without access begins */
    size_t length;
    unsigned char *mapping;
    size_t mapped; /* without that page */
    uint32_t slot; /* where kit_guard_explain finds it */
};

/* length bytes, zeroed, that begin at a multiple of align (a power of two) and,
 * if possible, of nothing larger; canaries fill up to align - 1 bytes after
 * them, and the space in front. Fails the case when short of memory. */
void kit_guarded_create(
    struct kit_guarded *guarded, size_t length, size_t align);
void kit_guarded_destroy(struct kit_guarded *guarded);

/* Access past its end breaks that rule from now on; 12 before. */
void kit_guarded_limit(
    struct kit_guarded *guarded, uint32_t rule, const char *text);

/* Sets the permitted access; any other breaks that rule, and text says what was
 * expected. text: constant. [any thread] */
void kit_guarded_protect(struct kit_guarded *guarded, enum kit_lock lock,
    uint32_t rule, const char *text);

/* Whether the canaries are intact. The memory must be readable. */
bool kit_guarded_intact(const struct kit_guarded *guarded);

#endif /* KIT_GUARD_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the kit between guard pages, with access rights that change over
 * time. An access that is not permitted faults at once. */
#ifndef KIT_GUARD_H
#define KIT_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The permitted access. */
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
    uint32_t slot; /* index for kit_guard_explain */
};

/* Allocates `length` zeroed bytes, aligned to align (a power of two) and, if
 * possible, to no more. Canaries fill the space in front and up to align - 1
 * bytes after it. Fails the case if out of memory. */
void kit_guarded_create(
    struct kit_guarded *guarded, size_t length, size_t align);
void kit_guarded_destroy(struct kit_guarded *guarded);

/* Sets the rule that an access past the end breaks; 12 initially. */
void kit_guarded_limit(
    struct kit_guarded *guarded, uint32_t rule, const char *text);

/* Sets the permitted access. Any other access breaks the rule; text (constant)
 * describes what was expected. [any thread] */
void kit_guarded_protect(struct kit_guarded *guarded, enum kit_lock lock,
    uint32_t rule, const char *text);

/* Whether the canaries are intact. The memory must be readable. */
bool kit_guarded_intact(const struct kit_guarded *guarded);

#endif /* KIT_GUARD_H */

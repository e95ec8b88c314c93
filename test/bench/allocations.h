/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the allocations of the process, by interposed functions. One thread. */
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>

/* The object that allocates. */
enum allocations_owner {
    ALLOCATIONS_CORE,    /* libtalaria and whatever is not named below */
    ALLOCATIONS_PLUGIN,  /* libna_*.so */
    ALLOCATIONS_LIBRARY, /* libfabric and UCX: varies with their versions */
    ALLOCATIONS_OWNERS
};

struct allocations {
    unsigned long count;
    size_t bytes; /* requested; frees are not subtracted */
};

/* Starts to count, or stops. */
void allocations_count(bool on);

/* Returns what has been counted since the process began. */
struct allocations allocations_of(enum allocations_owner owner);

#endif /* ALLOCATIONS_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: a name is one object with a count of references, found again in a
 * tp_table by the name's hash; their text and their bytes. A lock of the caller's
 * guards the table, and ends the last reference. */
#ifndef TP_ADDRESS_H
#define TP_ADDRESS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "common/table.h"
#include "na_plugin.h"

/* Lies in the plugin's address. */
struct tp_addr {
    struct tp_keyed keyed; /* owner: the plugin's, most often NULL; key: hash */
    const void *name;      /* in the address itself; NULL: in no table */
    uint32_t length;       /* bytes of it */
    union {
        _Atomic uint32_t refs;
        uint32_t single_refs; /* the same, if the class has one thread */
    };
};

uint64_t tp_addr_hash(const void *name, size_t length);

/* The address with this name and owner; no reference; NULL: there is none. */
struct tp_addr *tp_addr_find(const struct tp_table *table, const void *owner,
    const void *name, size_t length);

/* A new address, with one reference. With a name it enters the table, owner
 * filled in. */
void tp_addr_enter(struct tp_table *table, struct tp_addr *addr,
    const void *name, size_t length);

/* Drops a reference under the lock. True: it was the last one; the address has
 * left the table, and is the caller's to free. */
bool tp_addr_release(struct tp_table *table, struct tp_addr *addr);

/* One reference more. single: the class has one thread. [any thread] */
static inline void
tp_addr_hold(struct tp_addr *addr, const bool single)
{
    if (single)
        addr->single_refs++;
    else
        atomic_fetch_add_explicit(&addr->refs, 1, memory_order_relaxed);
}

/* Drops a reference unless it is the last one, which needs the lock and
 * tp_addr_release. Whether it did. [any thread] */
static inline bool
tp_addr_release_shared(struct tp_addr *addr)
{
    uint32_t refs = atomic_load_explicit(&addr->refs, memory_order_relaxed);

    while (refs > 1) {
        /* release: pairs with the acquire in tp_addr_release */
        if (atomic_compare_exchange_weak_explicit(&addr->refs, &refs, refs - 1,
                memory_order_release, memory_order_relaxed))
            return true;
    }
    return false;
}

/* The same in a class that has one thread, without a read-modify-write. */
static inline bool
tp_addr_release_single(struct tp_addr *addr)
{
    if (addr->single_refs <= 1)
        return false;
    addr->single_refs--;
    return true;
}

/* What follows "scheme://" in text. INVALID_ARG, or PROTONOSUPPORT of another
 * scheme; logged. */
int32_t tp_addr_rest(const na_plugin_host *host, const char *text,
    const char *scheme, const char **rest_p);

/* How many bytes go out, as the ABI demands of strings and bytes: OK with room
 * for them, or without a buffer; else OVERFLOW. */
int32_t tp_size_out(const void *buffer, uint64_t *size_p, uint64_t need);

/* "scheme" + "://" + name, for addr_to_string. */
int32_t tp_addr_to_string(
    const char *scheme, const char *name, char *buffer, uint64_t *size_p);

/* Bytes for peers: form, length, content of at most 255 bytes. */
int32_t tp_addr_serialize(uint8_t form, const void *content, size_t length,
    void *buffer, uint64_t *size_p);

/* The same back from bytes of a peer; content_p then points into them. forms:
 * those known, 1 to forms. PROTOCOL_ERROR: another one; INVALID_ARG; logged at
 * level WARNING, thinned. */
int32_t tp_addr_deserialize(const na_plugin_host *host, uint8_t forms,
    const void *buffer, uint64_t length, uint8_t *form_p,
    const unsigned char **content_p, size_t *length_p);

#endif /* TP_ADDRESS_H */

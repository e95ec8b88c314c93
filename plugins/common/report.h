/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables for na.report/1: what a class says of itself, by where it stands in one
 * struct. The entries function of a plugin whose numbers all lie in its class is
 * one call; others first add up into a struct of their own. */
#ifndef TP_REPORT_H
#define TP_REPORT_H

#include <stdatomic.h>
#include <stddef.h>

#include "na_plugin.h"

enum tp_report_kind {
    TP_REPORT_TEXT,    /* const char *, valid as long as the class */
    TP_REPORT_CHARS,   /* char[], likewise */
    TP_REPORT_NUMBER,  /* uint32_t */
    TP_REPORT_COUNTER, /* uint64_t, or _Atomic uint64_t */
    TP_REPORT_FLAG,    /* bool: which of two texts, separated by a zero byte */
};

/* One line. texts: TEXT, CHARS: instead of NULL or ""; FLAG: "yes\0no". */
struct tp_report_line {
    const char *name;
    enum tp_report_kind kind;
    size_t offset;
    const char *texts;
};

/* The same of a member of a struct type; kind without TP_REPORT_. */
#define TP_REPORT_LINE(name, kind, type, member, texts)                        \
    {                                                                          \
        name, TP_REPORT_##kind, offsetof(type, member), texts                  \
    }

/* Fills in up to max entries from number first on, from the struct at base; how
 * many. Counters are read relaxed. */
uint32_t tp_report_entries(const struct tp_report_line *lines, uint32_t count,
    const void *base, uint32_t first, na_plugin_report_entry *entries,
    uint32_t max);

/* Adds to a counter that one thread at a time writes, or several do; what it was
 * before. */
static inline uint64_t
tp_count(_Atomic uint64_t *counter, uint64_t more)
{
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);

    atomic_store_explicit(counter, before + more, memory_order_relaxed);
    return before;
}

static inline uint64_t
tp_count_shared(_Atomic uint64_t *counter, uint64_t more)
{
    return atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

#endif /* TP_REPORT_H */

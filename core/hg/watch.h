/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts libtalaria-watch, which publishes statistics and writes traces: a part
 * of the core in a file of its own, since few processes need it. */
#ifndef HG_WATCH_H
#define HG_WATCH_H

#include "base/watch.h"
#include "mercury_core_types.h"
#include "na/addr.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct na_class;

#define HG_WATCH_LIBRARY "libtalaria-watch.so.0"
#define HG_WATCH_SYMBOL "talaria_watch"

/* What libtalaria-watch gets from the core. */
struct hg_watch_core {
    bool publish;      /* TALARIA_PUBLISH */
    const char *trace; /* value of TALARIA_TRACE; NULL: unset */
    _Atomic uint16_t *observers;
    _Atomic(const struct base_watch *) *watch;
    na_return_t (*address_text)(struct na_class *na_class,
        const na_plugin_addr *addr, char *buf, size_t *buf_size_p);
    na_return_t (*address_form)(
        struct na_class *na_class, void *buf, size_t buf_size, na_addr_t *addr);
    na_return_t (*own_address)(struct na_class *na_class, na_addr_t **addr_p);
    na_return_t (*free_address)(struct na_class *na_class, na_addr_t *addr);
    const char *(*error_to_string)(hg_return_t ret);
    void (*log)(const char *text); /* an error */
};

/* What HG_WATCH_SYMBOL is. The library reads handles and transfers as they are
 * in memory: its layout must be the core's (hg/watch_layout.h). */
struct hg_watch_library {
    size_t layout;
    /* Returns whether it uses the core from now on. */
    bool (*start)(const struct hg_watch_core *core);
};

/* Loads the library, once, if TALARIA_PUBLISH is on or TALARIA_TRACE is set.
 * Callers exclude one another. */
void hg_watch_start(void);

#endif /* HG_WATCH_H */

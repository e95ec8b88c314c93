/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A class: one opened transport, with the plugin's operations copied over stubs
 * so that each of them can be called without a test.
 */
#ifndef NA_CLASS_H
#define NA_CLASS_H

#include "na_plugin.h"
#include "na_types.h"

#include "base/lock.h"
#include "setting/values.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

struct na_op_id;

struct na_class {
    na_plugin_ops ops;
    na_plugin_class *plugin_class;
    const na_plugin_wait *wait; /* NULL: not offered, as below */
    const na_plugin_multi_recv *multi_recv;
    const na_plugin_mem_alloc *mem_alloc;
    const na_plugin_report *report;
    na_plugin_opened opened;
    const na_plugin *plugin;
    char *protocol;
    bool listen;
    bool no_block;
    bool single_class;   /* promised by the thread mode: no lock of the class */
    bool single_context; /* or of its contexts */
    uint8_t max_contexts;
    _Atomic uint32_t context_count;
    _Atomic uint32_t addr_count; /* references that the interface gave out */
    na_plugin_host host;
    struct base_lock setup_lock; /* creating and destroying contexts */
    struct base_lock ops_lock;   /* op_ids */
    LIST_HEAD(, na_op_id) op_ids;
    struct setting_values settings;
    char *open_error; /* last error logged while opening */
};

/* What a class is opened with. */
struct na_class_args {
    const char *info_string;
    bool listen;
    const struct na_init_info *init; /* with the fields of every version */
    struct setting_pairs *pairs;     /* of which it takes its own; or NULL */
    bool pairs_of_others; /* others will take the rest of them; else there is
                             to be no rest: */
    const na_plugin_setting *const *taken; /* what has been taken, or NULL */
};

/* Opens a class. Errors as of NA_Initialize_opt2, logged and reported. */
na_return_t na_class_open(
    const struct na_class_args *args, na_class_t **na_class_p);

/* The same for one that nobody misses: a failure is neither logged nor what
 * talaria_open_report tells, but written to why, cut to size bytes. */
na_return_t na_class_try_open(const struct na_class_args *args, char *why,
    size_t size, na_class_t **na_class_p);

/* The host table of a class. */
void na_host_init(struct na_class *na_class);

/* Whether what a plugin's open returned lies within the limits of na_plugin.h;
 * if not, fault says which value does not, cut to size bytes. */
bool na_opened_check(const na_plugin *plugin, const na_plugin_opened *opened,
    char *fault, size_t size);

/* Copies a plugin's operations over the stubs. INVALID_ARG when one that must
 * be there is missing. */
na_return_t na_ops_copy(na_plugin_ops *ops, const na_plugin_ops *plugin_ops,
    const char **missing_p);

/* What of the operations a context has is called of a dead one. */
extern const na_plugin_ops na_ops_dead;

#endif /* NA_CLASS_H */

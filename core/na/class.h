/* SPDX-License-Identifier: BSD-3-Clause */
/* A class: one opened transport. The plugin's operations are copied over stubs,
 * so that each can be called without checking that it exists. */
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
    const na_plugin_wait *wait; /* NULL: not supported, as the next */
    const na_plugin_multi_recv *multi_recv;
    const na_plugin_mem_alloc *mem_alloc;
    const na_plugin_report *report;
    na_plugin_opened opened;
    const na_plugin *plugin;
    char *protocol;
    bool listen;
    bool no_block;
    bool single_class;   /* by the thread mode: the class needs no locks */
    bool single_context; /* nor do its contexts */
    uint8_t max_contexts;
    _Atomic uint32_t context_count;
    _Atomic uint32_t addr_count; /* references that users own */
    na_plugin_host host;
    struct base_lock setup_lock; /* creating and destroying contexts */
    struct base_lock ops_lock;   /* op_ids */
    LIST_HEAD(, na_op_id) op_ids;
    struct setting_values settings;
    char *open_error; /* last error logged while opening */
};

/* Arguments of opening a class. */
struct na_class_args {
    const char *info_string;
    bool listen;
    const struct na_init_info *init; /* with the fields of every version */
    struct setting_pairs *pairs;     /* the class takes its own; or NULL */
    bool pairs_of_others; /* others take the rest; else it must be empty: */
    const na_plugin_setting *const *taken; /* settings taken before, or NULL */
};

/* Opens a class. Errors as of NA_Initialize_opt2, logged and reported. */
na_return_t na_class_open(
    const struct na_class_args *args, na_class_t **na_class_p);

/* na_class_open for a class that is optional: a failure is neither logged nor
 * in talaria_open_report, but its reason is written to why, cut to size bytes.
 */
na_return_t na_class_try_open(const struct na_class_args *args, char *why,
    size_t size, na_class_t **na_class_p);

/* Initializes the host table of a class. */
void na_host_init(struct na_class *na_class);

/* Checks the values that a plugin's open returned against the limits in
 * na_plugin.h. If one is invalid, fault says which, cut to size bytes. */
bool na_opened_check(const na_plugin *plugin, const na_plugin_opened *opened,
    char *fault, size_t size);

/* Copies a plugin's operations over the stubs. INVALID_ARG: a required one is
 * missing, *missing_p. */
na_return_t na_ops_copy(na_plugin_ops *ops, const na_plugin_ops *plugin_ops,
    const char **missing_p);

/* Replaces the context operations of a dead context. */
extern const na_plugin_ops na_ops_dead;

#endif /* NA_CLASS_H */

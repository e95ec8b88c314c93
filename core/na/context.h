/* SPDX-License-Identifier: BSD-3-Clause */
/* A context: a completion queue of a class, and its progress. */
#ifndef NA_CONTEXT_H
#define NA_CONTEXT_H

#include "base/completion.h"
#include "na/class.h"
#include "na/progress.h"

struct na_context {
    struct na_class *na_class;
    na_plugin_ctx *plugin_ctx;
    struct na_progress *progress; /* its own, or whose source it became */
    struct base_completion_queue completions; /* of the NA interface */
    _Atomic uint32_t pending; /* operations of the NA interface */
    uint8_t id;
    int wait_fd; /* -1: the plugin cannot wait */
    struct na_progress own_progress;
};

#endif /* NA_CONTEXT_H */

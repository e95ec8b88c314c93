/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a plugin is refused: the stage, a code, and words. */
#ifndef PLUGIN_FAULT_H
#define PLUGIN_FAULT_H

#include "talaria.h"

struct plugin_fault {
    enum talaria_stage stage; /* TALARIA_STAGE_OK: none */
    na_return_t code;
    char text[1000];
};

/* Fills one in; returns its code. */
na_return_t plugin_fault_set(struct plugin_fault *fault,
    enum talaria_stage stage, na_return_t code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for a system call that failed with err: "what: words for err". Short
 * of memory or descriptors it is no fault of the plugin: NOMEM. */
na_return_t plugin_fault_errno(struct plugin_fault *fault,
    enum talaria_stage stage, int err, const char *what);

#endif /* PLUGIN_FAULT_H */

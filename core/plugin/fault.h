/* SPDX-License-Identifier: BSD-3-Clause */
/* The reason why a plugin is refused: stage, code and text. */
#ifndef PLUGIN_FAULT_H
#define PLUGIN_FAULT_H

#include "talaria.h"

struct plugin_fault {
    enum talaria_stage stage; /* TALARIA_STAGE_OK: none */
    na_return_t code;
    char text[1000];
};

/* Fills in a fault. Returns its code. */
na_return_t plugin_fault_set(struct plugin_fault *fault,
    enum talaria_stage stage, na_return_t code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Fills in a fault for a system call that failed with err: "what: text of err".
 * ENOMEM is NOMEM, which is not the plugin's fault. */
na_return_t plugin_fault_errno(struct plugin_fault *fault,
    enum talaria_stage stage, int err, const char *what);

#endif /* PLUGIN_FAULT_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* The core's own settings: the limits of an HG class. Independent of the rest
 * of the core. */
#ifndef SETTING_CORE_H
#define SETTING_CORE_H

#include "na_plugin.h"

enum {
    SETTING_CORE_ACK_TIMEOUT,
    SETTING_CORE_OVERFLOW_MAX,
    SETTING_CORE_OVERFLOW_TOTAL,
    SETTING_CORE_COUNT
};

/* In the order above, with a NULL at the end. */
extern const na_plugin_setting *const setting_core[];

#endif /* SETTING_CORE_H */

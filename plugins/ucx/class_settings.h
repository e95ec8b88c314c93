/* SPDX-License-Identifier: BSD-3-Clause */
/* What users may set of a class; the README says more of each. */
#ifndef UCX_CLASS_SETTINGS_H
#define UCX_CLASS_SETTINGS_H

#include "na_plugin.h"

extern const na_plugin_setting *const ucx_class_settings[];

#endif /* UCX_CLASS_SETTINGS_H */

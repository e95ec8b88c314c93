/* SPDX-License-Identifier: BSD-3-Clause */
/* What users may set of a class; the README says more of each. */
#ifndef SM_CLASS_SETTINGS_H
#define SM_CLASS_SETTINGS_H

#include "na_plugin.h"

extern const na_plugin_setting *const sm_class_settings[];

#endif /* SM_CLASS_SETTINGS_H */

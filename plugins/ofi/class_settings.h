/* SPDX-License-Identifier: BSD-3-Clause */
/* What users may set of a class; the README says more of each. */
#ifndef OFI_CLASS_SETTINGS_H
#define OFI_CLASS_SETTINGS_H

#include "na_plugin.h"

extern const na_plugin_setting *const ofi_class_settings[];

#endif /* OFI_CLASS_SETTINGS_H */

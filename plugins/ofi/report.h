/* SPDX-License-Identifier: BSD-3-Clause */
/* na.report/1. */
#ifndef OFI_REPORT_H
#define OFI_REPORT_H

#include "types.h"

extern const na_plugin_report ofi_report;

#endif /* OFI_REPORT_H */

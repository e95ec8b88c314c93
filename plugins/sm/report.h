/* SPDX-License-Identifier: BSD-3-Clause */
/* What a class reports of itself: na.report/1. */
#ifndef SM_REPORT_H
#define SM_REPORT_H

#include "class.h"

/* The extension. */
extern const na_plugin_report sm_report;

#endif /* SM_REPORT_H */

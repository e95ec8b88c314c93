/* SPDX-License-Identifier: BSD-3-Clause */
/* "na.report/1": choices and counters. */
#ifndef UCX_REPORT_H
#define UCX_REPORT_H

#include "ucx.h"

extern const na_plugin_report ucx_report;

#endif /* UCX_REPORT_H */

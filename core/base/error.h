/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of the codes that NA and HG share number by number. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/* "NA_SUCCESS", "NA_PERMISSION", …; NULL above NA_HOSTFIREWALL or below 0. */
const char *base_error_name(int code);

/* The code for an errno value, IO_ERROR for those without one of their own. */
int base_error_from_errno(int err);

#endif /* BASE_ERROR_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of the codes that are equal in NA and HG. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/* "NA_SUCCESS", "NA_PERMISSION", …; NULL above NA_HOSTFIREWALL or below 0. */
const char *base_error_name(int code);

/* Returns the code for an errno value, IO_ERROR if it has no code of its own.
 */
int base_error_from_errno(int err);

#endif /* BASE_ERROR_H */

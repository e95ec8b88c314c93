/* SPDX-License-Identifier: BSD-3-Clause */
/* libfabric's errors. */
#ifndef OFI_ERROR_H
#define OFI_ERROR_H

#include <stdbool.h>
#include <stdint.h>

/* A code for an error of libfabric's, which is positive. */
int32_t ofi_error_code(int error);

/* Whether it says that there is no way to the peer. */
bool ofi_error_is_loss(int error);

#endif /* OFI_ERROR_H */

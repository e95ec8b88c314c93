/* SPDX-License-Identifier: BSD-3-Clause */
/* A message as it arrived. */
#ifndef OFI_MESSAGE_H
#define OFI_MESSAGE_H

#include "header.h"

struct ofi_message {
    struct ofi_header header;
    na_plugin_addr *from;
    const unsigned char *data;
    uint32_t length;
    uint32_t before;   /* bytes of the header before data */
    struct ofi_rx *rx; /* where it lies, NULL: to oneself, or passed on */
};

#endif /* OFI_MESSAGE_H */

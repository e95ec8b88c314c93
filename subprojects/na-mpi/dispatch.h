/* SPDX-License-Identifier: BSD-3-Clause */
/* What a message says, checked, and who it is for. Under nampi_lock. */
#ifndef NAMPI_DISPATCH_H
#define NAMPI_DISPATCH_H

#include "class.h"

/* size: of bytes, header included. */
void nampi_dispatch(struct nampi_engine *engine, int rank,
    const unsigned char *bytes, uint32_t size);

#endif /* NAMPI_DISPATCH_H */

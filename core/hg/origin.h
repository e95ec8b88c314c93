/* SPDX-License-Identifier: BSD-3-Clause */
/* The origin's side of calls. */
#ifndef HG_ORIGIN_H
#define HG_ORIGIN_H

#include "hg/handle.h"

extern const struct hg_side hg_origin_side;

#endif /* HG_ORIGIN_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/* The target's side of calls: received by single receives, by multi-receives,
 * and calls to oneself. */
#ifndef HG_TARGET_H
#define HG_TARGET_H

#include "hg/handle.h"

extern const struct hg_side hg_target_side;
extern const struct hg_side hg_multi_side;
extern const struct hg_side hg_local_side;

#endif /* HG_TARGET_H */

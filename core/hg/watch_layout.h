/* SPDX-License-Identifier: BSD-3-Clause */
/* A number of the layout of what libtalaria-watch reads of the core. */
#ifndef HG_WATCH_LAYOUT_H
#define HG_WATCH_LAYOUT_H

#include "bulk/op.h"
#include "hg/handle.h"
#include "na/class.h"

#include <stddef.h>

#define HG_WATCH_FIELD(number, type, field)                                    \
    (number) * offsetof(struct type, field)

/* Differs if a field has moved, but for moves that cancel out. */
#define HG_WATCH_LAYOUT                                                        \
    (HG_WATCH_FIELD(3, hg_handle, info) +                                      \
        HG_WATCH_FIELD(5, hg_handle, context) +                                \
        HG_WATCH_FIELD(7, hg_handle, port) +                                   \
        HG_WATCH_FIELD(11, hg_handle, rpc) +                                   \
        HG_WATCH_FIELD(13, hg_handle, call) +                                  \
        HG_WATCH_FIELD(17, hg_handle, role) +                                  \
        HG_WATCH_FIELD(19, hg_handle, index) +                                 \
        HG_WATCH_FIELD(23, hg_handle, cookie) +                                \
        HG_WATCH_FIELD(29, hg_handle, tag) +                                   \
        HG_WATCH_FIELD(31, hg_handle, peer) +                                  \
        HG_WATCH_FIELD(37, hg_handle, began) +                                 \
        HG_WATCH_FIELD(41, hg_handle, in) +                                    \
        HG_WATCH_FIELD(43, hg_handle, out) +                                   \
        HG_WATCH_FIELD(47, hg_rpc, name) + HG_WATCH_FIELD(53, hg_port, net) +  \
        HG_WATCH_FIELD(59, hg_port, na_context) +                              \
        HG_WATCH_FIELD(61, bulk_op, size) +                                    \
        HG_WATCH_FIELD(67, bulk_op, na_context) +                              \
        HG_WATCH_FIELD(71, na_context, na_class) +                             \
        HG_WATCH_FIELD(73, hg_message, extra) +                                \
        HG_WATCH_FIELD(79, hg_handle, lane) +                                  \
        HG_WATCH_FIELD(83, hg_port, taken) + sizeof(struct hg_handle))

#endif /* HG_WATCH_LAYOUT_H */

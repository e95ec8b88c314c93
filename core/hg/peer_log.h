/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines about a handle's call and its peer. */
#ifndef HG_PEER_LOG_H
#define HG_PEER_LOG_H

#include "base/log.h"
#include "mercury_types.h"

#include <stdatomic.h>
#include <stdint.h>

struct hg_handle;

/* Logs a stage of a call, with the call's id, if level DEBUG is on. */
void hg_stage_log(
    const struct hg_handle *handle, const char *stage, hg_return_t ret);

/* Logs a line with the address, RPC and context of a handle's peer, then the
 * text. Repeated lines are thinned, since peers can cause them
 * (base_log_is_due). */
#define HG_LOG_PEER(handle, level, ...)                                        \
    do {                                                                       \
        static _Atomic uint64_t log_count;                                     \
                                                                               \
        if (base_log_wanted(BASE_LOG_##level))                                 \
            hg_log_peer(handle, BASE_LOG_##level, &log_count, __FILE__,        \
                __LINE__, __VA_ARGS__);                                        \
    } while (0)
void hg_log_peer(const struct hg_handle *handle, int32_t level,
    _Atomic uint64_t *count, const char *file, unsigned line,
    const char *format, ...) __attribute__((format(printf, 6, 7), cold));

#endif /* HG_PEER_LOG_H */

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stages of a call as they are observed: counted, by classes with
 * statistics, and logged with the call's id, at level DEBUG. Callers have asked
 * hg_class_is_observed before, or the note OBSERVED of a call.
 */
#ifndef HG_STAGE_H
#define HG_STAGE_H

#include "base/log.h"
#include "mercury_types.h"

#include <stdatomic.h>

struct hg_handle;

/* A forward begins; its answer has arrived; it has ended, with what its handle
 * says. */
void hg_stage_forward(struct hg_handle *handle);
void hg_stage_answer(struct hg_handle *handle);
void hg_stage_forwarded(struct hg_handle *handle);

/* A request has arrived; its handler is about to run; it is answered, before the
 * answer is sent; the answer could not be sent, and does not count; it is
 * dropped without an answer; its handle is free again. */
void hg_stage_received(struct hg_handle *handle);
void hg_stage_handler(const struct hg_handle *handle);
void hg_stage_respond(struct hg_handle *handle, hg_return_t result);
void hg_stage_not_responded(struct hg_handle *handle, hg_return_t ret);
void hg_stage_dropped(struct hg_handle *handle);
void hg_stage_released(struct hg_handle *handle);

/* Any other stage: logged if DEBUG is on. */
void hg_stage_log(
    const struct hg_handle *handle, const char *stage, hg_return_t ret);

/* Logs a line about a handle's peer: its address, RPC and context, then the text.
 * A peer can cause it at will: see base_log_is_due. */
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

/* A forward has ended and its callback has not run yet: stops its timer and
 * observes it, as the notes of its call say. */
void hg_forward_noted(struct hg_handle *handle);

#endif /* HG_STAGE_H */
